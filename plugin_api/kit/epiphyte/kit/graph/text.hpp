// Graphs as text, for tests and bug reports. The text that is written can be read again.
//
//   graph "part_0"
//   in x: float[1,3,224,224]
//   const w: float[8,3,3,3] = …                        # elements left out: only the type is known
//   const b: float[8] = [0, 0.5, -1, 0, 0, 0, 0, 0]
//   c = Conv@11<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b) : float[1,8,224,224]
//   y = epiphyte.kit::Elementwise<code=[6,0,-1]>(c) : float[1,8,224,224]
//   out y
//
// Each line is one statement. '#' begins a comment.
// - An input or output that is left out is `_`.
// - The version stands after '@'; it is 1 when missing. A node's name stands in brackets before its outputs: [conv_1].
// - `reads (a, b)` after the inputs names the values that the node's bodies read.
// - Names with characters other than letters, digits and _./-$ are quoted.
// - Types are written as in ONNX: seq(float), optional(float[2]), map(int64), sparse(float[4]). A size of -1 is
//   unknown, a type without brackets has an unknown rank, and `?` is an unknown type.
// - Attributes are 3, 0.5 (floats have a point or an exponent, or are inf or nan), "text", [1,2], [0.5,1.0], ["a","b"],
//   float[2]{0.5, 1}, sparse(float[1]{0.5}, int64[1]{3}), and lists of those two. Empty lists are ints[], floats[],
//   strings[], tensors[], sparses[]. ?5 is an attribute of type 5 with content that the graph does not have.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// Writes a graph. The text is deterministic: attributes are sorted by name. Constants with more than `most_elements`
// elements are written without their elements.
std::string ToText(const Graph& graph, size_t most_elements = 16);
// Writes the nodes only, one a line, as "c = Conv<…>(x, w)", for comparisons in tests.
std::string NodesToText(const Graph& graph);
// Reads a graph. Throws INVALID_GRAPH with the line and what was expected there. The result has passed Check.
Graph FromText(std::string_view text);

}  // namespace epiphyte::kit::ir
