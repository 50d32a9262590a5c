// UnshareDequantize: gives every operator its own DequantizeLinear nodes, so that each QDQ unit is complete. Use it in
// Compile, where the plugin may change the graph. GetCapability can't copy nodes; see host_units.hpp.
//
//   ir::Editor editor(graph);
//   qdq::UnshareDequantize(editor);
//   editor.Finish();
//   const ir::Editor whole(graph);
//   const qdq::Units found = qdq::FindUnits(whole);
#pragma once

#include <cstddef>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::qdq {

// A DequantizeLinear that makes a graph output, or that nodes read in their bodies, stays as it is. Otherwise it stays
// with its first reader. Each other reader gets a copy placed before it, with the same handle. Returns the number of
// copies.
size_t UnshareDequantize(ir::Editor& editor);

}  // namespace epiphyte::kit::qdq
