// Describe: a case as text for messages.
//
//   "Add, opset 18\n  axis = 1\n  input float[2,3] = 1 2 3 …\n  output float[2,3] = 2 4 6 …"
#pragma once

#include <string>

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

std::string Text(const Dims& dims);  // "[2,3]"
std::string Describe(const Case& c);

}  // namespace epiphyte::operators
