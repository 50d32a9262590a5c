// MatchUnit: matches one operator and its neighbours to a unit, without regard to other readers of the neighbours.
// FindUnits (units.hpp) calls it for each operator of a graph, and then resolves what units share.
//
//   qdq::Unit unit;
//   std::string why;
//   if (!qdq::MatchUnit(editor, n, options, {}, &unit, &why)) Decline(why);   // "its input 1 'w' isn't dequantised"
#pragma once

#include <string>

#include "epiphyte/kit/qdq/unit.hpp"

namespace epiphyte::kit::qdq {

// Fills `unit` except `nodes` and `shared`. Does not call Options::refuse.
bool MatchUnit(const ir::Editor& editor, int32_t target, const Options& options, const Surroundings& surroundings,
               Unit* unit, std::string* why);

}  // namespace epiphyte::kit::qdq
