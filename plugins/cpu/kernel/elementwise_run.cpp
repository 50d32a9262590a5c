#include "plugins/cpu/kernel/elementwise_run.h"

#include "plugins/cpu/simd/simd.h"
#include "plugins/cpu/simd/vector_math.h"

namespace epiphyte::cpu {
namespace {

template <typename F>
EPIPHYTE_INLINE void Each(const float* a, float* y, int64_t n, const F& f) {
#pragma GCC ivdep  // y may be a itself
  for (int64_t i = 0; i < n; ++i) y[i] = f(a[i]);
}

}  // namespace

EPIPHYTE_MULTIVERSION void RunBinary(ElementwiseOp op, const float* a, const float* b, float number, float* y,
                                     int64_t n) {
#define EPIPHYTE_BINARY(expression)                        \
  if (a == nullptr) {                                      \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      const float p = number, q = b[i];                    \
      y[i] = expression;                                   \
    }                                                      \
  } else if (b == nullptr) {                               \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      const float p = a[i], q = number;                    \
      y[i] = expression;                                   \
    }                                                      \
  } else {                                                 \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      const float p = a[i], q = b[i];                      \
      y[i] = expression;                                   \
    }                                                      \
  }                                                        \
  return
  switch (op) {
    case ElementwiseOp::kAdd: EPIPHYTE_BINARY(p + q);
    case ElementwiseOp::kSub: EPIPHYTE_BINARY(p - q);
    case ElementwiseOp::kMul: EPIPHYTE_BINARY(p * q);
    case ElementwiseOp::kDiv: EPIPHYTE_BINARY(p / q);
    // A NaN on either side is the result.
    case ElementwiseOp::kMax: EPIPHYTE_BINARY(p != p ? p : (q > p || q != q ? q : p));
    case ElementwiseOp::kMin: EPIPHYTE_BINARY(p != p ? p : (q < p || q != q ? q : p));
    default: return;
  }
#undef EPIPHYTE_BINARY
}

EPIPHYTE_MULTIVERSION void RunUnary(ElementwiseOp op, const float* a, float p0, float p1, float* y, int64_t n) {
  switch (op) {
    case ElementwiseOp::kRelu: return Each(a, y, n, [](float x) { return x < 0.0f ? 0.0f : x; });
    case ElementwiseOp::kSigmoid: return Each(a, y, n, [](float x) { return vm::Sigmoid(x); });
    case ElementwiseOp::kTanh: return Each(a, y, n, [](float x) { return vm::Tanh(x); });
    case ElementwiseOp::kNeg: return Each(a, y, n, [](float x) { return -x; });
    case ElementwiseOp::kAbs: return Each(a, y, n, [](float x) { return vm::Bits(vm::Bits(x) & 0x7FFFFFFFu); });
    case ElementwiseOp::kSqrt: return Each(a, y, n, [](float x) { return __builtin_sqrtf(x); });
    case ElementwiseOp::kExp: return Each(a, y, n, [](float x) { return vm::Exp(x); });
    case ElementwiseOp::kLog: return Each(a, y, n, [](float x) { return vm::Log(x); });
    case ElementwiseOp::kErf: return Each(a, y, n, [](float x) { return vm::Erf(x); });
    case ElementwiseOp::kReciprocal: return Each(a, y, n, [](float x) { return 1.0f / x; });
    case ElementwiseOp::kSoftplus: return Each(a, y, n, [](float x) { return vm::Softplus(x); });
    case ElementwiseOp::kHardSwish:
      return Each(a, y, n, [](float x) {
        const float t = x * (1.0f / 6.0f) + 0.5f;
        return x * (t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t);
      });
    case ElementwiseOp::kGelu:
      return Each(a, y, n, [](float x) { return 0.5f * x * (1.0f + vm::Erf(x * 0.707106781f)); });
    case ElementwiseOp::kGeluTanh:
      return Each(a, y, n,
                  [](float x) { return 0.5f * x * (1.0f + vm::Tanh(0.797884561f * (x + 0.044715f * x * x * x))); });
    case ElementwiseOp::kSquare: return Each(a, y, n, [](float x) { return x * x; });
    case ElementwiseOp::kCube: return Each(a, y, n, [](float x) { return x * x * x; });
    case ElementwiseOp::kSwish: return Each(a, y, n, [](float x) { return x * vm::Sigmoid(x); });
    case ElementwiseOp::kLeakyRelu: return Each(a, y, n, [p0](float x) { return x < 0.0f ? x * p0 : x; });
    case ElementwiseOp::kElu: return Each(a, y, n, [p0](float x) { return x < 0.0f ? p0 * vm::Expm1(x) : x; });
    case ElementwiseOp::kHardSigmoid:
      return Each(a, y, n, [p0, p1](float x) {
        const float t = x * p0 + p1;
        return t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
      });
    case ElementwiseOp::kClip: return Each(a, y, n, [p0, p1](float x) { return x < p0 ? p0 : x > p1 ? p1 : x; });
    default: return;
  }
}

}  // namespace epiphyte::cpu
