// Summaries of values for `run`.
#pragma once

#include <string>

#include "epiphyte/value.hpp"
#include "host/cli/text.h"

namespace epiphyte::cli {

std::string TypeText(const Value& value);  // "tensor(float)[1,1000]", "sequence of 3"
// Returns {"min", "max", "mean", "nan"} for tensors of numbers with a C++ type; null for all other values.
Json Statistics(const Value& value);

}  // namespace epiphyte::cli
