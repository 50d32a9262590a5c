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
// One statement a line. Names that are no plain words are quoted. An input that is left out is `_`. A version is after
// the @; types are those of ONNX, with -1 for a size that isn't known, no brackets where the rank isn't, `?` where
// nothing is known. '#' begins a comment.
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
