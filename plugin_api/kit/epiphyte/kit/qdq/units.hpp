// QDQ node units: an operator together with the DequantizeLinear nodes in front of it and the QuantizeLinear nodes
// behind it, which integer hardware runs as one. Every node of a graph is in exactly one unit; what makes no such unit
// with others is one by itself, and `reasons` says why.
//
//   ir::Editor editor(graph);
//   const qdq::Units found = qdq::FindUnits(editor, {.widest_bits = 8});
//   for (const qdq::Unit& unit : found.units) {
//     if (!unit.IsQdq()) continue;                                  // found.reasons[unit.target] says why
//     const auto x = qdq::ReadQuantization(graph, editor.node(unit.dequantize[0]), &why);
//     …
//   }
//
// For GetCapability see host_units.hpp; while compiling, unshare.hpp gives every unit DequantizeLinear nodes of its
// own. Operators and what they demand are in rules.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/qdq/unit.hpp"

namespace epiphyte::kit::qdq {

struct Units {
  // By target, which is an order in which they can run; but with dequantized_outputs, single nodes may stand before the
  // unit whose floats they read.
  std::vector<Unit> units;
  std::vector<int32_t> unit_of_node;  // index into units
  std::vector<std::string> reasons;   // by node: why it's in no QDQ unit, one line; empty for the others
};

// Linear in nodes and edges. Nothing has been changed through the editor yet; the graph has passed ir::Check. Throws
// INVALID_GRAPH for attributes of another type than their operators have.
Units FindUnits(const ir::Editor& editor, const Options& options = {}, const Surroundings& surroundings = {});

}  // namespace epiphyte::kit::qdq
