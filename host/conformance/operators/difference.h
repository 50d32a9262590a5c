// Difference: compares an output with the one that a case expects, within the case's bounds.
//
//   const std::string difference = Difference(c.outputs[0], *found, {.factor = 4});   // "[3] is 1.5, expected 1.25: …"
#pragma once

#include <string>

#include "core/graph/value.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

// Additional tolerance for a provider's results beyond a case's own bounds, which are those of the CPU plugin.
struct Tolerance {
  Number factor = 1;   // multiplies each bound of floats
  Number ulps = 0;     // minimum bound of floats, in ULPs of the type at the element's magnitude
  Number quantum = 0;  // added to the bounds of 8-bit outputs of quantized operators
};

// Returns one line about the first element of `found` that is out of bounds; "" when there is none.
std::string Difference(const Case::Out& expected, const core::Value& found, const Tolerance& tolerance = {});

}  // namespace epiphyte::operators
