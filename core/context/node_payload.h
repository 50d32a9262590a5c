// NodePayloads: the payloads of a model's EPContext nodes, for those who look at them without a session: each opened
// once, by the rules of base/safe_path.h, and compared once with what the model recorded.
//
//   NodePayloads payloads(model_path, model.metadata);
//   const NodePayload& payload = payloads.Open(node, attributes);
//   if (!payload.problem.empty()) …
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/context/context_model.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

struct NodePayload {
  ContextBlob blob;             // empty: the node has none, or it can't be opened
  std::string digest;           // of the blob; "" without one
  std::string recorded_digest;  // as the model recorded it; "" when it didn't
  std::string problem;          // one line; empty: there is none
};

class NodePayloads {
 public:
  // Throws INVALID_GRAPH when the records are malformed. `model` outlives this; empty: from memory, without files.
  NodePayloads(const std::filesystem::path& model, const std::map<std::string, std::string>& metadata);

  // The payload that the node names itself: a secondary that names none has an empty one.
  const NodePayload& Open(const Node& node, const EpContextAttributes& attributes);

  const std::vector<PayloadRecord>& records() const { return records_; }
  // Those that no opened payload has matched by its file, or by its digest when it is embedded.
  std::vector<const PayloadRecord*> UnusedRecords() const;

 private:
  NodePayload OpenFile(const Node& node, const EpContextAttributes& attributes);
  void Compare(const Node& node, const EpContextAttributes& attributes, NodePayload* payload);

  const std::filesystem::path& model_;
  const NodePayload none_;
  std::vector<PayloadRecord> records_;
  std::vector<bool> used_;
  std::map<std::string, NodePayload> files_;
  std::map<const Node*, NodePayload> embedded_;
};

}  // namespace epiphyte::core
