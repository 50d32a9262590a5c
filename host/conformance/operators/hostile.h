// Hostile cases: those of an operator with something in them made senseless, as a damaged or malicious model has it.
//
//   Case c = MakeCase(op, op.make, number);
//   MakeHostile(&c, number);
//   const Result result = runner.RunHostile(c, Random(number));   // it gives something, or is refused by name
#pragma once

#include <cstdint>

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

// Makes one to three changes: an input of another shape or type, an absurd number among few, an absurd attribute, one
// input less or one more. The same changes for a number everywhere.
void MakeHostile(Case* c, uint64_t number);

}  // namespace epiphyte::operators
