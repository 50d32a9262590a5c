// The simulator's only rule for requantisation. It is in fixed point, so that results have the same bits everywhere:
//
//   FixedPoint f = ToFixedPoint(double(x_scale) * w_scale / y_scale);       // at compile time
//   y = clamp(y_zero_point + Rescale(accumulator, f), low, high);           // on the device
//
// Rescale(v, f) is v * multiplier / 2^shift, rounded to the nearest integer, halves upwards. With a multiplier of 31
// bits that is at most one step from ONNX's arithmetic in floating point. Accumulators are 32 bits and wrap around.
#pragma once

#include <cmath>
#include <cstdint>

namespace epiphyte::npusim {

struct FixedPoint {
  int32_t multiplier = 0;
  int32_t shift = 1;  // 1 to 62

  friend bool operator==(const FixedPoint&, const FixedPoint&) = default;
};

inline constexpr int32_t kMaxShift = 62;

// |multiplier| is in [2^(bits - 1), 2^bits). A factor that is too small gives 0. `factor` must be finite and |factor|
// below 2^(bits - 2). For a product of two operands (kMul of ElementwiseCommand) `bits` is 30, so that nothing
// overflows.
inline FixedPoint ToFixedPoint(double factor, int bits = 31) {
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);  // in [0.5, 1)
  if (factor == 0 || bits - exponent > kMaxShift) return {0, 1};
  int64_t multiplier = std::llround(std::ldexp(mantissa, bits));
  int32_t shift = bits - exponent;
  if (multiplier == int64_t{1} << bits || multiplier == -(int64_t{1} << bits)) {
    multiplier /= 2;
    --shift;
  }
  return {static_cast<int32_t>(multiplier), shift};
}

// Two factors with one shift, for sums; the larger factor has 30 bits.
struct FixedPointPair {
  int32_t a = 0, b = 0, shift = 1;
};

inline FixedPointPair ToFixedPointPair(double a, double b) {
  const FixedPoint larger = ToFixedPoint(std::fmax(std::fabs(a), std::fabs(b)), 30);
  if (larger.multiplier == 0) return {};
  const auto fixed = [&](double v) { return static_cast<int32_t>(std::llround(std::ldexp(v, larger.shift))); };
  return {fixed(a), fixed(b), larger.shift};
}

// `product` is already multiplied by the multiplier.
inline int64_t RoundShift(int64_t product, int32_t shift) { return (product + (int64_t{1} << (shift - 1))) >> shift; }

inline int64_t Rescale(int64_t value, FixedPoint f) { return RoundShift(value * f.multiplier, f.shift); }

}  // namespace epiphyte::npusim
