#include "host/conformance/operators/random.h"

#include <algorithm>
#include <cmath>

namespace epiphyte::operators {

// The generator is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
uint64_t Random::Bits() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

int64_t Random::Int(int64_t least, int64_t most) {
  const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1;
  return static_cast<int64_t>(static_cast<uint64_t>(least) + (range == 0 ? Bits() : Bits() % range));
}

Number Random::Real(Number least, Number most) {
  return least + (most - least) * static_cast<Number>(Bits() >> 11) / static_cast<Number>(uint64_t{1} << 53);
}

int64_t Random::Size(int64_t most) { return Chance(3) ? 0 : SizeButNotZero(most); }

int64_t Random::SizeButNotZero(int64_t most) {
  if (most <= 1) return 1;
  const int64_t kind = Int(0, 99);
  int64_t size = 1;
  if (kind < 20) {
    size = 1;
  } else if (kind < 70) {
    size = Int(2, 6);
  } else if (kind < 92) {
    size = Pick({7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65});
  } else {
    size = Int(66, 700);
  }
  return std::min(size, most);
}

Dims Random::ShapeOf(int64_t least_rank, int64_t most_rank, int64_t most, bool zeros) {
  Dims dims(static_cast<size_t>(Int(least_rank, most_rank)));
  int64_t left = Chance(10) ? most : std::min<int64_t>(most, 2000);
  for (int64_t& dim : dims) {
    dim = zeros ? Size(left) : SizeButNotZero(left);
    left /= std::max<int64_t>(dim, 1);
  }
  // If a large shape is wanted, one axis gets the remaining factor.
  if (!dims.empty() && left > 1 && Chance(8)) {
    int64_t& dim = dims[static_cast<size_t>(Int(0, static_cast<int64_t>(dims.size()) - 1))];
    dim *= Int(1, left);
  }
  Shuffle(&dims);
  return dims;
}

Dims Random::Shape(int64_t least_rank, int64_t most_rank, int64_t most) {
  return ShapeOf(least_rank, most_rank, most, true);
}
Dims Random::ShapeWithoutZero(int64_t least_rank, int64_t most_rank, int64_t most) {
  return ShapeOf(least_rank, most_rank, most, false);
}

std::vector<int64_t> Random::Axes(int64_t rank, int64_t least) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  Shuffle(&axes);
  axes.resize(static_cast<size_t>(Int(std::min(least, rank), rank)));
  return axes;
}

Number Random::Special(DataType type) {
  switch (Int(0, 5)) {
    case 0:
    case 1: return std::numeric_limits<Number>::quiet_NaN();
    case 2: return Round(type, HUGE_VALL);
    case 3: return Round(type, -HUGE_VALL);
    case 4: return Chance(50) ? -Number{0} : Number{0};
    // Products of bfloat16 by AVX512_BF16 and AMX treat a subnormal number as 0, so its product with an infinity is
    // NaN.
    default: {
      const Number least = type == DataType::kBfloat16 ? std::ldexp(Number{1}, -126) : Smallest(type);
      return Round(type, least * static_cast<Number>(Int(-9, 9)));
    }
  }
}

Number Random::OnGrid(Draw draw) {
  switch (draw) {
    case Draw::kUnit: return static_cast<Number>(Int(-128, 127)) / 128;
    case Draw::kPositive: return static_cast<Number>(Int(1, 128)) / 16;
    case Draw::kFew: return static_cast<Number>(Int(-2, 2));
    default: return static_cast<Number>(Int(-128, 127)) / 16;
  }
}

Number Random::Value(DataType type, Draw draw) {
  if (is_on_grid_ && type == DataType::kFloat) return OnGrid(draw);
  const bool may_be_special = draw == Draw::kPlain || draw == Draw::kUnit || draw == Draw::kAll;
  if (special_percent_ != 0 && may_be_special && IsFloat(type) && Chance(special_percent_)) return Special(type);
  if (type == DataType::kBool) return static_cast<Number>(Int(0, 1));
  if (type == DataType::kString) return static_cast<Number>(draw == Draw::kFew ? Int(0, 3) : Int(-99, 99999));
  if (type == DataType::kComplex64 || type == DataType::kComplex128) return static_cast<Number>(Int(-9999, 9999));
  const bool is_float = IsFloat(type);
  const Number highest = Highest(type);
  const Number lowest = Lowest(type);
  if (draw == Draw::kFew) return std::clamp<Number>(static_cast<Number>(Int(-2, 2)), lowest, highest);
  if (draw == Draw::kPositive)
    return is_float ? Round(type, Real(0.0625L, 8))
                    : static_cast<Number>(
                          Int(1, std::min<int64_t>(16, static_cast<int64_t>(std::min<Number>(highest, 16)))));
  if (draw == Draw::kUnit && is_float) return Round(type, Real(-1, 1));
  if (draw == Draw::kPlain || draw == Draw::kUnit) {
    if (is_float)
      return Round(type,
                   std::clamp<Number>(Chance(50) ? Real(-8, 8) : static_cast<Number>(Int(-8, 8)), lowest, highest));
    return static_cast<Number>(IsUnsigned(type)
                                   ? std::min<int64_t>(Int(0, 16), static_cast<int64_t>(std::min<Number>(highest, 16)))
                                   : std::clamp<int64_t>(Int(-8, 8), static_cast<int64_t>(std::max<Number>(lowest, -8)),
                                                         static_cast<int64_t>(std::min<Number>(highest, 8))));
  }
  if (!is_float) {
    const int64_t kind = Int(0, 9);
    if (kind == 0) return lowest;
    if (kind == 1) return highest;
    if (kind < 7) return std::clamp<Number>(static_cast<Number>(Int(-20, 20)), lowest, highest);
    return Wrap(type, static_cast<__int128>(Bits()));
  }
  switch (Int(0, 39)) {
    case 0: return draw == Draw::kAll ? std::numeric_limits<Number>::quiet_NaN() : Number{0};
    case 1: return draw == Draw::kAll ? Round(type, HUGE_VALL) : highest;
    case 2: return draw == Draw::kAll ? Round(type, -HUGE_VALL) : lowest;
    case 3: return 0;
    case 4: return -Number{0};
    case 5: return highest;
    case 6: return lowest;
    case 7: return Smallest(type) * static_cast<Number>(Int(-3, 3));
    case 8: return static_cast<Number>(Int(-2, 2)) / 2;
    case 9:
    case 10:
    case 11: {  // numbers of any magnitude
      const auto limit = static_cast<int64_t>(std::ilogb(highest)) - 1;
      return Round(type, std::ldexp(Real(-2, 2), static_cast<int>(Int(-limit, limit))));
    }
    default: return Round(type, Real(-10, 10));
  }
}

Array Random::Values(DataType type, const Dims& dims, Draw draw) {
  Array array(type, dims);
  for (Number& value : array.values) value = Value(type, draw);
  return array;
}

Array Random::Integers(DataType type, const Dims& dims, int64_t least, int64_t most) {
  Array array(type, dims);
  for (Number& value : array.values) value = static_cast<Number>(Int(least, most));
  return array;
}

DataType Random::FloatType() {
  if (is_on_grid_) return DataType::kFloat;
  if (Chance(50)) return DataType::kFloat;
  return Pick({DataType::kFloat, DataType::kDouble, DataType::kFloat16, DataType::kBfloat16});
}

DataType Random::IntegerType() {
  return Pick({DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64, DataType::kUint8,
               DataType::kUint16, DataType::kUint32, DataType::kUint64});
}

DataType Random::NumberType() { return is_on_grid_ || Chance(60) ? FloatType() : IntegerType(); }

DataType Random::AnyType() {
  if (is_on_grid_ || Chance(80)) return NumberType();
  return Pick({DataType::kBool, DataType::kString, DataType::kComplex64, DataType::kComplex128});
}

}  // namespace epiphyte::operators
