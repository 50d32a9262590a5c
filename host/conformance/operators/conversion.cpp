// Conversions from one element type to another.
#include <bit>
#include <cmath>
#include <utility>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

bool IsFloat8(DataType type) {
  return type == DataType::kFloat8E4M3FN || type == DataType::kFloat8E4M3FNUZ || type == DataType::kFloat8E5M2 ||
         type == DataType::kFloat8E5M2FNUZ;
}

DataType CastType(Random& random) {
  if (random.Chance(15))
    return random.Pick(
        {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2, DataType::kFloat8E5M2FNUZ});
  if (random.Chance(10)) return random.Pick({DataType::kInt4, DataType::kUint4});
  return random.Chance(10) ? DataType::kBool : random.NumberType();
}

bool HasInfinity(DataType type) { return std::isinf(Round(type, HUGE_VALL)); }

// The specification's tables for float 8. With saturation a value out of range becomes the largest number. Without it,
// it becomes infinity, or NaN if the type has no infinity. An infinity is out of range too.
Number ToFloat8(Number value, DataType to, bool saturate) {
  if (std::isnan(value)) return value;
  const Number highest = Highest(to);
  const Number rounded = Round(to, value);
  if (std::isfinite(rounded) && std::fabs(rounded) <= highest) return rounded;
  return saturate ? std::copysign(highest, value) : HasInfinity(to) ? std::copysign(HUGE_VALL, value) : NAN;
}

Number Converted(Number value, DataType from, DataType to, bool saturate) {
  if (from == to) return value;
  if (to == DataType::kBool) return value != 0;
  if (IsFloat8(to)) return ToFloat8(value, to, saturate);
  if (IsFloat(to)) return Round(to, value);
  if (IsFloat(from)) return std::trunc(value);
  return Wrap(to, static_cast<__int128>(value));
}

// Returns values for casts of floats to integers that are in range once the fraction is cut off. The result for any
// other value is undefined.
Array Castable(Random& random, DataType from, DataType to, const Dims& dims) {
  Array x = random.Values(from, dims, Draw::kAll);
  const bool narrow = core::DataTypeBits(to) < 8;
  // Integers wrap, but the specification does not define that for types of less than a byte.
  if (IsFloat(to) || to == DataType::kBool || (!IsFloat(from) && !narrow)) return x;
  for (Number& value : x.values) {
    // For types of less than a byte, versions differ in their treatment of fractions.
    if (narrow) value = std::trunc(value);
    const Number whole = std::trunc(value);
    if (!(whole >= Lowest(to) && whole <= Highest(to))) value = static_cast<Number>(random.Int(0, 3));
  }
  return x;
}

void CastTo(Random& random, Case& c, bool like) {
  c.opset = random.Pick({21, 23});
  const DataType from = CastType(random);
  const DataType to = CastType(random);
  const Array x = Castable(random, from, to, random.Shape(0, 5));
  bool saturate = true;
  if (IsFloat8(to) && random.Chance(50)) {
    saturate = random.Chance(50);
    c.Set("saturate", saturate);
  }
  c.Input(x);
  if (like) {
    c.Input(random.Values(to, random.Shape(0, 2), Draw::kPlain));
  } else {
    c.Set("to", static_cast<int64_t>(to));
  }
  c.Output(Map(
      x, [&](Number v) { return Converted(v, from, to, saturate); }, to));
}
void Cast(Random& random, Case& c) { CastTo(random, c, false); }
void CastLike(Random& random, Case& c) { CastTo(random, c, true); }

void BitCast(Random& random, Case& c) {
  c.opset = 26;
  const auto [from, to] =
      random.Pick({std::pair(DataType::kInt8, DataType::kUint8), std::pair(DataType::kUint16, DataType::kInt16),
                   std::pair(DataType::kInt32, DataType::kUint32), std::pair(DataType::kUint64, DataType::kInt64),
                   std::pair(DataType::kFloat, DataType::kInt32)});
  const Array x = random.Values(from, random.Shape(0, 5), Draw::kPlain);
  c.Input(x);
  c.Set("to", static_cast<int64_t>(to));
  const bool is_float = from == DataType::kFloat;
  c.Output(Map(
      x,
      [&, to = to](Number v) {
        if (is_float) return static_cast<Number>(std::bit_cast<int32_t>(static_cast<float>(v)));
        return static_cast<Number>(Wrap(to, static_cast<__int128>(v)));
      },
      to));
}

}  // namespace

std::vector<OperatorCases> ConversionOperators() {
  return {
      {"BitCast", "", BitCast},
      {"Cast", "", Cast},
      {"CastLike", "", CastLike},
  };
}

}  // namespace epiphyte::operators
