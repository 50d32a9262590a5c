#include "host/conformance/operators/difference.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "host/conformance/operators/describe.h"

namespace epiphyte::operators {
namespace {

bool IsNear(Number expected, Number found, DataType type, Number ulps, Number size, bool signs) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (expected == found) return !signs || std::signbit(expected) == std::signbit(found);
  if (!IsFloat(type)) return std::fabs(expected - found) <= ulps;
  if (ulps == 0) return false;
  // When one of the two numbers overflows, the other may be the largest finite number.
  const Number most = Highest(type);
  const Number expected_finite = std::clamp(expected, -most, most);
  const Number found_finite = std::clamp(found, -most, most);
  const Number magnitude = std::max(std::fabs(expected_finite), size);
  return std::fabs(expected_finite - found_finite) <= ulps * std::max(Epsilon(type) * magnitude, Smallest(type));
}

Number BoundOf(const Case::Out& expected, const Tolerance& tolerance) {
  if (IsFloat(expected.array->type)) return std::max(expected.bound.ulps * tolerance.factor, tolerance.ulps);
  return expected.bound.ulps + (expected.bound.is_quantized ? tolerance.quantum : 0);
}

}  // namespace

std::string Difference(const Case::Out& expected, const core::Value& found, const Tolerance& tolerance) {
  const Array& array = *expected.array;
  if (!found.IsTensor()) return "is no tensor";
  const Dims dims(found.dims().begin(), found.dims().end());
  if (found.type() != array.type) return "is " + std::string(core::DataTypeName(found.type()));
  if (dims != array.dims) return "has the shape " + Text(dims);
  if (array.type == DataType::kString) {
    for (size_t i = 0; i < array.values.size(); ++i)
      if (found.string_at(i) != TextOf(array.values[i]))
        return "[" + std::to_string(i) + "] is '" + found.string_at(i) + "', expected " + TextOf(array.values[i]);
    return "";
  }
  const Number ulps = BoundOf(expected, tolerance);
  const std::vector<Number> values = Decode(array.type, array.count(), found.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const Number size = i < expected.bound.sizes.size() ? expected.bound.sizes[i] : 0;
    if (IsNear(array.values[i], values[i], array.type, ulps, size, expected.bound.signs)) continue;
    std::ostringstream text;
    text.precision(17);
    text << '[' << i << "] is " << values[i] << ", expected " << array.values[i];
    if (IsFloat(array.type) && std::isfinite(array.values[i]) && std::isfinite(values[i])) {
      const Number magnitude = std::max({std::fabs(array.values[i]), size, Smallest(array.type)});
      text << ": off by " << std::fabs(array.values[i] - values[i]) / (Epsilon(array.type) * magnitude)
           << " steps, allowed " << ulps << ", of size " << size;
    }
    return text.str();
  }
  return "";
}

}  // namespace epiphyte::operators
