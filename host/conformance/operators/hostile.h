// Hostile cases: cases of an operator with something made invalid, as in a damaged or malicious model.
//
//   Case c = MakeCase(op, op.make, number);
//   MakeHostile(&c, number);
//   const Result result = runner.RunHostile(c, Random(number));   // it gives something, or is refused by name
#pragma once

#include <cstdint>

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

// Makes one to three changes: an input with another shape or type, an absurd number in a small input, an absurd
// attribute, one input less, or one more. The same number gives the same changes on every machine.
void MakeHostile(Case* c, uint64_t number);

}  // namespace epiphyte::operators
