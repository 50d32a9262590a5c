#include "plugins/cpu/simd/elementwise/unary.h"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/elementwise/unary.cpp"
#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

// Both limits keep NaN; the upper limit wins where they cross.
template <class V>
HWY_INLINE V Between(V x, float low, float high) {
  const hn::DFromV<V> d;
  return AtMost(d, AtLeast(d, x, low), high);
}

// Gives a rounded x the sign of x. Highway loses the sign of zeros without SSE4.1.
template <class V>
HWY_INLINE V Signed([[maybe_unused]] V x, V rounded) {
#if HWY_ARCH_X86 && !HWY_CAP_GE256
  return hn::CopySign(rounded, x);
#else
  return rounded;
#endif
}

template <class V>
HWY_INLINE V Sign(V x) {
  const hn::DFromV<V> d;
  const V sign = hn::IfThenElseZero(hn::Ne(x, hn::Zero(d)), hn::CopySignToAbs(hn::Set(d, 1.0f), x));
  return hn::IfThenElse(hn::IsNaN(x), x, sign);
}

template <class V>
HWY_INLINE V Gelu(V x) {
  const hn::DFromV<V> d;
  const V half = hn::Mul(x, hn::Set(d, 0.5f));
  return hn::Mul(half, hn::Add(hn::Set(d, 1.0f), Erf(d, hn::Mul(x, hn::Set(d, 0.707106781f)))));
}

// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u))
template <class V>
HWY_INLINE V GeluTanh(V x) {
  const hn::DFromV<V> d;
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, -2 * 0.797884561f * 0.044715f), hn::Set(d, -2 * 0.797884561f));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), Exp(d, hn::Mul(x, cubic))));
}

// With e = exp(x) and w = (1 + e)^2 - 1, tanh(log(1 + e)) = w / (w + 2), which is 1 for all x above 20.
template <class V>
HWY_INLINE V Mish(V x) {
  const hn::DFromV<V> d;
  const V two = hn::Set(d, 2.0f);
  const V e = Exp(d, AtMost(d, x, 20.0f));
  const V w = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(w, hn::Add(w, two)));
}

template <class V>
HWY_INLINE V Shrink(V x, float bias, float lambda) {
  const hn::DFromV<V> d;
  const V above = hn::IfThenElseZero(hn::Gt(x, hn::Set(d, lambda)), hn::Sub(x, hn::Set(d, bias)));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -lambda)), hn::Add(x, hn::Set(d, bias)), above);
}

// Functions that take more than a few instructions per copy.
constexpr bool IsLong(Unary function) {
  switch (function) {
    case Unary::kExp:
    case Unary::kLog:
    case Unary::kSin:
    case Unary::kCos:
    case Unary::kAsin:
    case Unary::kAcos:
    case Unary::kAtan:
    case Unary::kTanh:
    case Unary::kErf:
    case Unary::kSigmoid:
    case Unary::kSoftplus:
    case Unary::kElu:
    case Unary::kSelu:
    case Unary::kCelu:
    case Unary::kGelu:
    case Unary::kGeluTanh:
    case Unary::kMish:
    case Unary::kSwish: return true;
    default: return false;
  }
}

template <Unary kFunction>
struct Function {
  // Short functions that use their operand twice; long ones aren't listed.
  static constexpr bool kUsesTwice = kFunction == Unary::kSign || kFunction == Unary::kLeakyRelu ||
                                     kFunction == Unary::kHardSwish || kFunction == Unary::kSoftsign ||
                                     kFunction == Unary::kThresholdedRelu || kFunction == Unary::kShrink;
  float a, b;

  template <class V>
  HWY_INLINE V operator()(V value) const {
    const hn::DFromV<V> d;
    const V x = kUsesTwice ? InRegister(value) : value;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, 1.0f);
    const V va = hn::Set(d, a);
    const V vb = hn::Set(d, b);
    switch (kFunction) {
      case Unary::kAbs: return hn::Abs(x);
      case Unary::kNeg: return hn::Neg(x);
      case Unary::kSign: return Sign(x);
      case Unary::kCeil: return Signed(x, hn::Ceil(x));
      case Unary::kFloor: return Signed(x, hn::Floor(x));
      case Unary::kRound: return Signed(x, hn::Round(x));
      case Unary::kSqrt: return hn::Sqrt(x);
      case Unary::kReciprocal: return hn::Div(one, x);
      case Unary::kSquare: return hn::Mul(x, x);
      case Unary::kCube: return hn::Mul(hn::Mul(x, x), x);
      case Unary::kExp: return Exp(d, x);
      case Unary::kLog: return Log(d, x);
      case Unary::kSin: return Sin(d, x);
      case Unary::kCos: return Cos(d, x);
      case Unary::kAsin: return Asin(d, x);
      case Unary::kAcos: return Acos(d, x);
      case Unary::kAtan: return Atan(d, x);
      case Unary::kTanh: return Tanh(d, x);
      case Unary::kErf: return Erf(d, x);
      case Unary::kSigmoid: return Sigmoid(d, x);
      case Unary::kSoftplus: return Softplus(d, x);
      case Unary::kRelu: return AtLeast(d, x, 0.0f);
      case Unary::kLeakyRelu: return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, va), x);
      case Unary::kElu: return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(va, Expm1(d, x)), x);
      case Unary::kSelu: return hn::Mul(vb, hn::IfThenElse(hn::Le(x, zero), hn::Mul(va, Expm1(d, x)), x));
      case Unary::kCelu: return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(va, Expm1(d, hn::Div(x, va))), x);
      case Unary::kGelu: return Gelu(x);
      case Unary::kGeluTanh: return GeluTanh(x);
      case Unary::kHardSigmoid: return Between(hn::MulAdd(x, va, vb), 0.0f, 1.0f);
      case Unary::kHardSwish:
        return hn::Mul(x, Between(hn::MulAdd(x, hn::Set(d, 1.0f / 6.0f), hn::Set(d, 0.5f)), 0.0f, 1.0f));
      case Unary::kMish: return Mish(x);
      case Unary::kSoftsign: return hn::Div(x, hn::Add(one, hn::Abs(x)));
      case Unary::kSwish: return hn::Mul(x, Sigmoid(d, hn::Mul(va, x)));
      case Unary::kThresholdedRelu: return hn::IfThenElseZero(hn::Gt(x, va), x);
      case Unary::kShrink: return Shrink(x, a, b);
      case Unary::kClip: return Between(x, a, b);
      case Unary::kScale: return hn::Mul(x, va);
      case Unary::kAffine: return hn::MulAdd(x, va, vb);
    }
  }
};

template <Unary kFunction>
void Row(const float* x, float* y, int64_t n, float a, float b) {
  Map<IsLong(kFunction) ? kLong : kShort>(hn::ScalableTag<float>(), x, y, n, Function<kFunction>{a, b});
}

using RowPointer = void (*)(const float*, float*, int64_t, float, float);

template <int... kFunctions>
RowPointer Pick(Unary function, std::integer_sequence<int, kFunctions...>) {
  static constexpr RowPointer kRows[] = {&Row<static_cast<Unary>(kFunctions)>...};
  return kRows[static_cast<int>(function)];
}
RowPointer RowOf(Unary function) { return Pick(function, std::make_integer_sequence<int, kUnaryCount>()); }

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(RowOf);
UnaryLoop::UnaryLoop(Unary function, float a, float b) : row_(EPIPHYTE_DISPATCH(RowOf)(function)), a_(a), b_(b) {}

}  // namespace epiphyte::cpu::simd
#endif
