#include "host/conformance/operators/array.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace epiphyte::operators {
namespace {

// A float format with a sign, `exponent` exponent bits and `mantissa` mantissa bits.
struct Format {
  enum class Extremes { kIeee, kNoInfinity, kUnsignedZero, kFinite };
  int exponent = 0;
  int mantissa = 0;
  Extremes extremes = Extremes::kIeee;

  int bits() const { return 1 + exponent + mantissa; }
  int bias() const { return (1 << (exponent - 1)) - (extremes == Extremes::kUnsignedZero ? 0 : 1); }
  int least_exponent() const { return 1 - bias(); }  // exponent of the smallest normal number
  Number highest() const {
    const int top = (1 << exponent) - 1 - bias();  // exponent that the largest exponent field would stand for
    const Number step = std::ldexp(Number{1}, -mantissa);
    if (extremes == Extremes::kIeee) return std::ldexp(2 - step, top - 1);
    if (extremes == Extremes::kNoInfinity) return std::ldexp(2 - 2 * step, top);
    return std::ldexp(2 - step, top);
  }
};

Format FormatOf(DataType type) {
  using Extremes = Format::Extremes;
  switch (type) {
    case DataType::kDouble: return {11, 52};
    case DataType::kFloat: return {8, 23};
    case DataType::kFloat16: return {5, 10};
    case DataType::kBfloat16: return {8, 7};
    case DataType::kFloat8E4M3FN: return {4, 3, Extremes::kNoInfinity};
    case DataType::kFloat8E4M3FNUZ: return {4, 3, Extremes::kUnsignedZero};
    case DataType::kFloat8E5M2: return {5, 2};
    case DataType::kFloat8E5M2FNUZ: return {5, 2, Extremes::kUnsignedZero};
    case DataType::kFloat4E2M1: return {2, 1, Extremes::kFinite};
    default: throw std::logic_error("no float format");
  }
}

int IntegerBits(DataType type) {
  return type == DataType::kBool ? 8 : static_cast<int>(core::DataTypeBits(type));
}

uint64_t BitsOf(DataType type, Number value) {
  if (!IsFloat(type)) return static_cast<uint64_t>(static_cast<__int128>(value));
  const Format format = FormatOf(type);
  const uint64_t sign = uint64_t{std::signbit(value)} << (format.bits() - 1);
  const uint64_t largest_field = (uint64_t{1} << format.exponent) - 1;
  if (std::isnan(value)) {
    if (format.extremes == Format::Extremes::kUnsignedZero) return uint64_t{1} << (format.bits() - 1);
    if (format.extremes == Format::Extremes::kNoInfinity) return (uint64_t{1} << (format.bits() - 1)) - 1;
    return largest_field << format.mantissa | uint64_t{1} << (format.mantissa - 1);
  }
  if (std::isinf(value)) return sign | largest_field << format.mantissa;
  const Number magnitude = std::fabs(value);
  if (magnitude == 0) return format.extremes == Format::Extremes::kUnsignedZero ? 0 : sign;
  const int exponent = std::max(std::ilogb(magnitude), format.least_exponent());
  const auto units = static_cast<uint64_t>(std::ldexp(magnitude, format.mantissa - exponent));
  // The implicit leading one of a normal number adds one to the exponent field.
  return sign | ((static_cast<uint64_t>(exponent - format.least_exponent()) << format.mantissa) + units);
}

Number FromBits(DataType type, uint64_t bits) {
  if (!IsFloat(type)) return Wrap(type, static_cast<__int128>(bits));
  const Format format = FormatOf(type);
  const Number sign = bits >> (format.bits() - 1) & 1 ? -1 : 1;
  const auto field = static_cast<int>(bits >> format.mantissa & ((uint64_t{1} << format.exponent) - 1));
  const uint64_t fraction = bits & ((uint64_t{1} << format.mantissa) - 1);
  const Number nan = std::numeric_limits<Number>::quiet_NaN();
  if (format.extremes == Format::Extremes::kUnsignedZero && bits == uint64_t{1} << (format.bits() - 1)) return nan;
  if (field == (1 << format.exponent) - 1) {
    if (format.extremes == Format::Extremes::kIeee)
      return fraction != 0 ? nan : sign * std::numeric_limits<Number>::infinity();
    if (format.extremes == Format::Extremes::kNoInfinity && fraction == (uint64_t{1} << format.mantissa) - 1) return nan;
  }
  if (field == 0) return sign * std::ldexp(static_cast<Number>(fraction), format.least_exponent() - format.mantissa);
  const auto units = static_cast<Number>(fraction + (uint64_t{1} << format.mantissa));
  return sign * std::ldexp(units, field - format.bias() - format.mantissa);
}

}  // namespace

int64_t CountOf(const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

Dims StridesOf(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

Array::Array(DataType element_type, Dims shape)
    : type(element_type), dims(std::move(shape)), values(static_cast<size_t>(CountOf(dims))) {}
Array::Array(DataType element_type, Dims shape, std::vector<Number> numbers)
    : type(element_type), dims(std::move(shape)), values(std::move(numbers)) {
  if (count() != CountOf(dims)) throw std::logic_error("an array's values don't fit its shape");
}

const Number& Array::At(const Dims& index) const {
  int64_t at = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (index.at(axis) < 0 || index[axis] >= dims[axis]) throw std::logic_error("an index is out of an array's range");
    at = at * dims[axis] + index[axis];
  }
  return values[static_cast<size_t>(at)];
}
Number& Array::At(const Dims& index) { return const_cast<Number&>(static_cast<const Array*>(this)->At(index)); }

Array Int64Array(const std::vector<int64_t>& values) {
  return {DataType::kInt64, {static_cast<int64_t>(values.size())}, {values.begin(), values.end()}};
}
Array Scalar(DataType type, Number value) { return {type, {}, {value}}; }

bool IsFloat(DataType type) {
  switch (type) {
    case DataType::kDouble:
    case DataType::kFloat:
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat4E2M1: return true;
    default: return false;
  }
}

bool IsUnsigned(DataType type) {
  switch (type) {
    case DataType::kUint2:
    case DataType::kUint4:
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint64: return true;
    default: return false;
  }
}

bool IsInteger(DataType type) {
  switch (type) {
    case DataType::kInt2:
    case DataType::kInt4:
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64: return true;
    default: return IsUnsigned(type);
  }
}

Number Highest(DataType type) {
  if (type == DataType::kBool) return 1;
  if (IsFloat(type)) return FormatOf(type).highest();
  return std::ldexp(Number{1}, IntegerBits(type) - (IsUnsigned(type) ? 0 : 1)) - 1;
}
Number Lowest(DataType type) {
  if (IsFloat(type)) return -Highest(type);
  return IsInteger(type) && !IsUnsigned(type) ? -Highest(type) - 1 : 0;
}
Number Epsilon(DataType type) { return std::ldexp(Number{1}, -FormatOf(type).mantissa); }
Number Smallest(DataType type) {
  return std::ldexp(Number{1}, FormatOf(type).least_exponent() - FormatOf(type).mantissa);
}

Number Round(DataType type, Number value) {
  if (!IsFloat(type) || value == 0 || std::isnan(value)) return value;
  const Format format = FormatOf(type);
  const Number past = format.extremes == Format::Extremes::kIeee ? std::copysign(HUGE_VALL, value)
                                                                 : std::numeric_limits<Number>::quiet_NaN();
  if (std::isinf(value)) return past;
  const int unit = std::max(std::ilogb(value), format.least_exponent()) - format.mantissa;
  const Number rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(rounded) > format.highest() ? past : rounded;
}

Number Wrap(DataType type, __int128 value) {
  const int bits = IntegerBits(type);
  const __int128 range = __int128{1} << bits;
  __int128 low = value & (range - 1);
  if (!IsUnsigned(type) && type != DataType::kBool && low >= range / 2) low -= range;
  return static_cast<Number>(low);
}

std::string Encode(const Array& array) {
  if (array.type == DataType::kComplex64 || array.type == DataType::kComplex128) {
    const DataType part = array.type == DataType::kComplex64 ? DataType::kFloat : DataType::kDouble;
    std::vector<Number> parts;
    for (Number value : array.values) parts.insert(parts.end(), {value, -value});
    const Dims dims = {static_cast<int64_t>(parts.size())};
    return Encode(Array(part, dims, std::move(parts)));
  }
  const auto bits = static_cast<size_t>(core::DataTypeBits(array.type));
  std::string bytes((array.values.size() * bits + 7) / 8, '\0');
  for (size_t i = 0; i < array.values.size(); ++i) {
    const uint64_t element = BitsOf(array.type, array.values[i]);
    if (bits >= 8) {
      std::memcpy(bytes.data() + i * bits / 8, &element, bits / 8);
    } else {
      const uint64_t low = element & ((uint64_t{1} << bits) - 1);
      bytes[i * bits / 8] = static_cast<char>(static_cast<uint8_t>(bytes[i * bits / 8]) | low << (i * bits % 8));
    }
  }
  return bytes;
}

std::vector<Number> Decode(DataType type, int64_t count, const void* bytes) {
  if (type == DataType::kComplex64 || type == DataType::kComplex128) {
    const std::vector<Number> parts =
        Decode(type == DataType::kComplex64 ? DataType::kFloat : DataType::kDouble, 2 * count, bytes);
    std::vector<Number> values;
    for (size_t i = 0; i < parts.size(); i += 2)
      values.push_back(parts[i + 1] == -parts[i] ? parts[i] : std::numeric_limits<Number>::quiet_NaN());
    return values;
  }
  const auto bits = static_cast<size_t>(core::DataTypeBits(type));
  const auto* from = static_cast<const uint8_t*>(bytes);
  std::vector<Number> values;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    uint64_t element = 0;
    if (bits >= 8) {
      std::memcpy(&element, from + i * bits / 8, bits / 8);
    } else {
      element = from[i * bits / 8] >> (i * bits % 8) & ((uint64_t{1} << bits) - 1);
    }
    values.push_back(FromBits(type, element));
  }
  return values;
}

std::string TextOf(Number value) { return std::to_string(static_cast<int64_t>(value)); }

}  // namespace epiphyte::operators
