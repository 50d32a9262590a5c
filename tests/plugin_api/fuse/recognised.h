// Results of recognisers for a graph in text form (epiphyte/kit/graph/text.hpp).
//
//   EXPECT_EQ(Recognised("in x: float[2]\n…", [](kit::ir::Editor& editor) { kit::fuse::FuseGelu(editor); }),
//             "y = Gelu<approximate=\"none\">(x)\n");
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/graph/text.hpp"

namespace epiphyte::test {

using Recogniser = std::function<void(kit::ir::Editor& editor)>;

// Returns the graph after the recogniser. The graph has passed Check: each value is made before it is read.
inline kit::ir::Graph RecognisedGraph(std::string_view text, const Recogniser& recogniser) {
  kit::ir::Graph graph = kit::ir::FromText(text);
  kit::ir::Editor editor(graph);
  recogniser(editor);
  editor.Finish();
  kit::ir::Check(graph);
  return graph;
}
// Returns the nodes of RecognisedGraph, one per line.
inline std::string Recognised(std::string_view text, const Recogniser& recogniser) {
  return kit::ir::NodesToText(RecognisedGraph(text, recogniser));
}
// Returns the operators of RecognisedGraph in order, such as "Conv Relu".
inline std::string RecognisedOperators(std::string_view text, const Recogniser& recogniser) {
  std::string list;
  for (const kit::ir::Node& node : RecognisedGraph(text, recogniser).nodes)
    list += (list.empty() ? "" : " ") + node.op_type;
  return list;
}
// Returns `text` with the first occurrence of `from` replaced.
inline std::string With(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace epiphyte::test
