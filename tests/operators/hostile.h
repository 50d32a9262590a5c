// Hostile cases: those of an operator with something in them made senseless, as a damaged or malicious model has it.
//
//   const Case c = MakeHostileCase(cases, number);
//   const std::string failure = runner.RunHostile(c, Random(number));   // it gives something, or is refused by name
#pragma once

#include <cstdint>

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

// The case of that number, with one to three changes: an input of another shape or type, an absurd number among few, an
// absurd attribute, one input less or one more.
Case MakeHostileCase(const OperatorCases& cases, uint64_t number);

}  // namespace epiphyte::operators
