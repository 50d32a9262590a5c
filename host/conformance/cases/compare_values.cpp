#include "host/conformance/cases/compare_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/conformance/graphs/float_formats.h"

namespace epiphyte::conformance {
namespace {

using core::DataType;
using core::Value;

class Comparer {
 public:
  explicit Comparer(const Tolerance& tolerance) : tolerance_(tolerance) {}

  void Compare(const Value& actual, const Value& expected) {
    const std::string found = DescribeValue(actual);
    const std::string wanted = DescribeValue(expected);
    if (found != wanted) {
      result_.difference = fmt::format("is {}, expected {}", found, wanted);
    } else if (actual.IsTensor()) {
      CompareTensors(actual, expected);
    } else {
      for (size_t i = 0; i < actual.elements().size() && result_.equal(); ++i) {
        Compare(*actual.elements()[i], *expected.elements()[i]);
      }
    }
  }

  Comparison Take() {
    result_.relative_rms = std::sqrt(squares_ > 0 ? squared_differences_ / squares_ : squared_differences_);
    return std::move(result_);
  }

 private:
  void CompareTensors(const Value& actual, const Value& expected) {
    switch (actual.type()) {
      case DataType::kFloat: return CompareFloats<float>(actual, expected);
      case DataType::kDouble: return CompareFloats<double>(actual, expected);
      case DataType::kFloat16: return CompareFloats<Float16>(actual, expected);
      case DataType::kBfloat16: return CompareFloats<Bfloat16>(actual, expected);
      case DataType::kComplex64: return CompareFloats<float>(actual, expected, 2);
      case DataType::kComplex128: return CompareFloats<double>(actual, expected, 2);
      case DataType::kString: return CompareStrings(actual, expected);
      default: return CompareBytes(actual, expected);
    }
  }

  // Reports only the first difference, but compares every number for the maxima.
  template <typename T>
  void CompareFloats(const Value& actual, const Value& expected, uint64_t parts = 1) {
    const T* a = actual.data_as<T>();
    const T* e = expected.data_as<T>();
    const double relative = std::max(tolerance_.relative, kUnitInLastPlace<T>);
    for (uint64_t i = 0; i < actual.element_count() * parts; ++i) {
      const double x = static_cast<double>(a[i]);
      const double y = static_cast<double>(e[i]);
      if (std::isfinite(y)) squares_ += y * y;
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      // A NaN or an infinity on one side only counts as an infinite distance.
      const bool finite = std::isfinite(x) && std::isfinite(y);
      const double distance = finite ? std::abs(x - y) : std::numeric_limits<double>::infinity();
      result_.max_absolute = std::max(result_.max_absolute, distance);
      squared_differences_ += distance * distance;
      if (finite && y != 0) result_.max_relative = std::max(result_.max_relative, distance / std::abs(y));
      const bool close = finite && distance <= tolerance_.absolute + relative * std::abs(y);
      if (!close && result_.equal()) {
        result_.difference = fmt::format("element {} is {}, expected {}", i / parts, x, y);
      }
    }
  }

  void CompareStrings(const Value& actual, const Value& expected) {
    for (uint64_t i = 0; i < actual.element_count(); ++i) {
      if (actual.string_at(i) != expected.string_at(i)) {
        result_.difference =
            fmt::format("element {} is '{}', expected '{}'", i, actual.string_at(i), expected.string_at(i));
        return;
      }
    }
  }

  void CompareBytes(const Value& actual, const Value& expected) {
    const auto* a = actual.data_as<unsigned char>();
    const auto* e = expected.data_as<unsigned char>();
    const auto differs = std::mismatch(a, a + actual.byte_size(), e).first;
    if (differs == a + actual.byte_size()) return;
    const uint64_t element = static_cast<uint64_t>(differs - a) * 8 / core::DataTypeBits(actual.type());
    const auto shown = [&](const Value& value) {
      switch (value.type()) {
        case DataType::kInt64: return std::to_string(value.data_as<int64_t>()[element]);
        case DataType::kInt32: return std::to_string(value.data_as<int32_t>()[element]);
        case DataType::kInt16: return std::to_string(value.data_as<int16_t>()[element]);
        case DataType::kInt8: return std::to_string(value.data_as<int8_t>()[element]);
        case DataType::kUint64: return std::to_string(value.data_as<uint64_t>()[element]);
        case DataType::kUint32: return std::to_string(value.data_as<uint32_t>()[element]);
        case DataType::kUint16: return std::to_string(value.data_as<uint16_t>()[element]);
        default: return std::to_string(value.data_as<uint8_t>()[differs - a]);
      }
    };
    result_.difference = fmt::format("element {} is {}, expected {}", element, shown(actual), shown(expected));
  }

  Tolerance tolerance_;
  Comparison result_;
  double squared_differences_ = 0, squares_ = 0;
};

}  // namespace

Comparison CompareValues(const Value& actual, const Value& expected, const Tolerance& tolerance) {
  Comparer comparer(tolerance);
  comparer.Compare(actual, expected);
  return comparer.Take();
}

std::string DescribeValue(const Value& value) {
  if (value.IsEmptyOptional()) return "an empty optional";
  if (value.IsTensor()) return fmt::format("{}[{}]", core::DataTypeName(value.type()), fmt::join(value.dims(), ","));
  const char* kind = value.kind() == EP_KIND_MAP ? "map" : "sequence";
  return fmt::format("{} of {}", kind, value.elements().size());
}

}  // namespace epiphyte::conformance
