// Functions of one float, over rows.
//
//     const simd::UnaryLoop leaky_relu(simd::Unary::kLeakyRelu, 0.1f);
//     leaky_relu(x, y, n);   // y[i] = x[i] < 0 ? 0.1 x[i] : x[i]; y may be x
//
// Infinities, NaN, subnormals and the signs of zeros are treated as plain arithmetic and the standard library do.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// The numbers in the comments are errors in units of the last place; 0.5 (correctly rounded) if none is given. For
// functions that end in a product with x they hold if the other factor isn't subnormal.
enum class Unary : int32_t {
  kAbs,
  kNeg,
  kSign,  // NaN gives NaN
  kCeil,
  kFloor,
  kRound,  // halves to even
  kSqrt,
  kReciprocal,
  kSquare,
  kCube,      // 1
  kExp,       // 1.1
  kLog,       // 0.8
  kSin,       // 1.5
  kCos,       // 1.5
  kAsin,      // 4
  kAcos,      // 3
  kAtan,      // 4
  kTanh,      // 7
  kErf,       // 1.3
  kSigmoid,   // 2.41
  kSoftplus,  // 2
  kRelu,
  kLeakyRelu,        // a x below 0
  kElu,              // a (exp(x) - 1) below 0; 3
  kSelu,             // b x, and b a (exp(x) - 1) below 0; 3
  kCelu,             // a (exp(x / a) - 1) below 0; 3 and what the quotient's rounding makes
  kGelu,             // x / 2 (1 + erf(x / sqrt(2))), the error within 2^-23 |x|
  kGeluTanh,         // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), error as kGelu
  kHardSigmoid,      // a x + b within 0 and 1
  kHardSwish,        // x (x / 6 + 1 / 2 within 0 and 1)
  kMish,             // x tanh(softplus(x)); 4
  kSoftsign,         // x / (1 + |x|); 1
  kSwish,            // x sigmoid(a x)
  kThresholdedRelu,  // x above a, otherwise 0
  kShrink,           // x - a above b, x + a below -b, otherwise 0
  kClip,             // clamped to [a, b]; b wins where they cross
  kScale,            // a x
  kAffine,           // a x + b; 1
};
inline constexpr int kUnaryCount = static_cast<int>(Unary::kAffine) + 1;

// A function with its parameters. Runs the variant for the target that was chosen when the loop was constructed
// (targets.h).
class UnaryLoop {
 public:
  explicit UnaryLoop(Unary function, float a = 0, float b = 0);
  void operator()(const float* x, float* y, int64_t n) const { row_(x, y, n, a_, b_); }

 private:
  void (*row_)(const float* x, float* y, int64_t n, float a, float b);
  float a_;
  float b_;
};

}  // namespace epiphyte::cpu::simd
