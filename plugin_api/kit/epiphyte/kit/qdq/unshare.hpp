// Gives every operator DequantizeLinear nodes of its own, so that each QDQ unit is whole by itself. For Compile, whose
// graph is the plugin's to change; in GetCapability nodes can't be doubled, see
// host_units.hpp.
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

// Where a DequantizeLinear makes an output of the graph, or where nodes read it in their bodies, it stays theirs;
// otherwise it's the first reader's. Each other reader gets a copy before it, with the same handle. Returns how many
// copies there are.
size_t UnshareDequantize(ir::Editor& editor);

}  // namespace epiphyte::kit::qdq
