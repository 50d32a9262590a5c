// Graphs as text, for tests and bug reports: what is written can be read again.
//
//   graph "part_0"
//   in x: float[1,3,224,224]
//   const w: float[8,3,3,3] = …                        # bytes left out: only types are known
//   const b: float[8] = [0, 0.5, -1, 0, 0, 0, 0, 0]
//   c = Conv@11<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b) : float[1,8,224,224]
//   y = epiphyte.kit::Elementwise<code=[6,0,-1]>(c) : float[1,8,224,224]
//   out y
//
// One statement a line. An input or output that is left out is `_`. A version is after the @, 1 without one; a node's
// name may stand before it, as [conv_1]; `reads (a, b)` behind the inputs names what its bodies read. Names of other
// than letters, digits and _./-$ are in quotes. '#' begins a comment.
// Types are those of ONNX, with -1 for a size that isn't known, no brackets where the rank isn't, `?` where nothing is
// known; seq(float), optional(float[2]), map(int64), sparse(float[4]).
// Attributes: 3, 0.5 (floats have a point, an exponent or are inf or nan), "text", [1,2], [0.5,1.0], ["a","b"],
// float[2]{0.5, 1}, sparse(float[1]{0.5}, int64[1]{3}), lists of those two, empty lists as ints[], floats[], strings[],
// tensors[], sparses[]; and ?5 for one whose content isn't in the graph, of type 5.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// Constants of more elements than `most_elements` are written without their elements. Deterministic; attributes by
// name.
std::string ToText(const Graph& graph, size_t most_elements = 16);
// The nodes alone, one a line, as "c = Conv<…>(x, w)": what tests compare.
std::string NodesToText(const Graph& graph);
// Throws INVALID_GRAPH with the line and what was expected there. The result has passed Check.
Graph FromText(std::string_view text);

}  // namespace epiphyte::kit::ir
