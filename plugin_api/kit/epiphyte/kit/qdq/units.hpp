// FindUnits: finds QDQ units, which integer hardware runs as one: an operator with the DequantizeLinear nodes before it
// and the QuantizeLinear nodes after it. Every node of a graph is in exactly one unit. A node that forms no QDQ unit is
// a unit by itself, and `reasons` says why.
//
//   ir::Editor editor(graph);
//   const qdq::Units found = qdq::FindUnits(editor, {.widest_bits = 8});
//   for (const qdq::Unit& unit : found.units) {
//     if (!unit.IsQdq()) continue;                                  // found.reasons[unit.target] says why
//     const auto x = qdq::ReadQuantization(graph, editor.node(unit.dequantize[0]), &why);
//     …
//   }
//
// For GetCapability see host_units.hpp. While compiling, unshare.hpp gives every unit its own DequantizeLinear nodes.
// rules.hpp lists operators and their requirements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/qdq/unit.hpp"

namespace epiphyte::kit::qdq {

struct Units {
  // Sorted by target, which is an execution order. Exception: with dequantized_outputs, single nodes may precede the
  // unit that makes the floats they read.
  std::vector<Unit> units;
  std::vector<int32_t> unit_of_node;  // index into units
  std::vector<std::string> reasons;   // for each node: why it is in no QDQ unit, one line; empty for nodes in one
};

// Takes time linear in nodes and edges. The graph must have passed ir::Check, and the editor must have changed nothing
// yet. Throws INVALID_GRAPH for attributes of another type than their operators have.
Units FindUnits(const ir::Editor& editor, const Options& options = {}, const Surroundings& surroundings = {});

}  // namespace epiphyte::kit::qdq
