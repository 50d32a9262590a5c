// Compares values as ONNX's test runner does: floats within a tolerance, NaN equal to NaN, everything else exactly.
#pragma once

#include <string>

#include "core/graph/value.h"

namespace epiphyte::conformance {

// A float differs when |actual - expected| > absolute + relative * |expected|. For the 16-bit formats `relative` is at
// least one unit in the last place.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

struct Comparison {
  std::string difference;   // one line; empty: within the tolerance
  double max_absolute = 0;  // over all numbers compared
  double max_relative = 0;  // over all numbers with an expected value other than 0
  double relative_rms = 0;  // floats only: root mean square of the differences, divided by that of the expected values

  bool equal() const { return difference.empty(); }
};

Comparison CompareValues(const core::Value& actual, const core::Value& expected, const Tolerance& tolerance);

// Returns text such as "float[1,3,4]" or "sequence of 2", for messages and for outputs with a defined shape only.
std::string DescribeValue(const core::Value& value);

}  // namespace epiphyte::conformance
