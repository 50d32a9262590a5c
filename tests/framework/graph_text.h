// Graphs as text, so that tests of graphs show the graph before and after.
//
//   std::unique_ptr<Graph> graph = ParseGraph(R"(
//     opset 17
//     in    x: float[2,3,height,?]
//     const w: float[3] = 1 2 3
//     y, _ = Dropout@13<seed=7>(x, _)
//     z: float[2,3] = Transpose<perm=[1,0], mode="a">(y)
//     out   z
//   )");
//   EXPECT_EQ(Print(*graph), "z = Transpose<mode=\"a\", perm=[1,0]>(y)\n…");
//
// `_` is an input or output that is left out. Values may be used before the line that makes them. A number after `@` is
// the since_version (default 13). `com.microsoft::Op` names a domain. The name of a node is that of its first output.
// Attributes: integers, floats (with a point), strings, [lists].
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::test {

std::unique_ptr<core::Graph> ParseGraph(std::string_view text);
// The nodes in topological order, one per line, with attributes sorted by name.
std::string Print(const core::Graph& graph);
// Elements of a float, int64 or bool tensor: "1 2.5".
std::string Print(const core::Constant& constant);
core::Node* FindNode(const core::Graph& graph, std::string_view name);

}  // namespace epiphyte::test
