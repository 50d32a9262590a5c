// Explanation: a provider's notes on its nodes for the placement report (epiphyte/draft/ep_explain.h).
//
//   void Explain(std::string_view partition, const kit::GraphView& graph, kit::Explanation& explanation) override {
//     for (const kit::NodeView& node : graph.nodes()) explanation.Note(node.handle(), "matmul in tiles of 64x64");
//   }
#pragma once

#include <string>

#include "epiphyte/draft/ep_explain.h"
#include "epiphyte/kit/abi/cxx20.hpp"

namespace epiphyte::kit {

// The notes of one call of Explain.
class Explanation {
 public:
  explicit Explanation(const EpNoteSink* sink) : sink_(sink) {}
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;

  // Adds a note to `node`, a node of the graph. An empty text is ignored.
  void Note(const EpNode* node, const std::string& text) {
    if (!text.empty()) sink_->NoteNode(sink_->notes, node, text.c_str());
  }

 private:
  const EpNoteSink* sink_;
};

}  // namespace epiphyte::kit
