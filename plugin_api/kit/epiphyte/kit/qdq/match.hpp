// Match: what one operator and its neighbours make, whatever else reads the neighbours. FindUnits (units.hpp) asks this
// of every operator of a graph, and then settles what two of them share.
//
//   qdq::Unit unit;
//   std::string why;
//   if (!qdq::MatchUnit(editor, n, options, {}, &unit, &why)) Decline(why);   // "its input 1 'w' isn't dequantised"
#pragma once

#include <string>

#include "epiphyte/kit/qdq/unit.hpp"

namespace epiphyte::kit::qdq {

// Fills all of `unit` but `nodes` and `shared`. Options::refuse isn't asked.
bool MatchUnit(const ir::Editor& editor, int32_t target, const Options& options, const Surroundings& surroundings,
               Unit* unit, std::string* why);

}  // namespace epiphyte::kit::qdq
