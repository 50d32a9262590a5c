// Unary functions with equal input and output types: arithmetic, rounding, transcendental functions.
#include <cmath>

#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

// Negates with wrap-around: the lowest integer is its own negative.
template <typename T>
T Negate(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(x));
  } else {
    return -x;
  }
}

struct Abs {
  simd::UnaryLoop floats{simd::Unary::kAbs};
  static constexpr simd::NumberUnary kOthers = simd::NumberUnary::kAbs;
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(x);
    } else if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return x < 0 ? Negate(x) : x;
    }
  }
};
struct Neg {
  simd::UnaryLoop floats{simd::Unary::kNeg};
  static constexpr simd::NumberUnary kOthers = simd::NumberUnary::kNeg;
  template <typename T>
  T operator()(T x) const {
    return Negate(x);
  }
};
struct Sign {
  simd::UnaryLoop floats{simd::Unary::kSign};
  static constexpr simd::NumberUnary kOthers = simd::NumberUnary::kSign;
  template <typename T>
  T operator()(T x) const {
    if (std::is_floating_point_v<T> && x != x) return x;
    return static_cast<T>((x > T(0) ? 1 : 0) - (x < T(0) ? 1 : 0));
  }
};
struct BitwiseNot {
  static constexpr simd::NumberUnary kOthers = simd::NumberUnary::kNot;
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
struct Erf {
  simd::UnaryLoop floats{simd::Unary::kErf};
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(std::erf(static_cast<double>(x)));
  }
};
struct Not {
  static constexpr simd::NumberUnary kOthers = simd::NumberUnary::kIsZero;
  bool operator()(bool x) const { return !x; }
};

#define EPIPHYTE_UNARY(Name, expression) \
  struct Name {                          \
    template <typename T>                \
    T operator()(T x) const {            \
      return expression;                 \
    }                                    \
  };
// Ops that also have a loop over doubles.
#define EPIPHYTE_DOUBLE_UNARY(Name, expression)                              \
  struct Name {                                                              \
    simd::UnaryLoop floats{simd::Unary::k##Name};                            \
    static constexpr simd::NumberUnary kOthers = simd::NumberUnary::k##Name; \
    template <typename T>                                                    \
    T operator()(T x) const {                                                \
      return expression;                                                     \
    }                                                                        \
  };
#define EPIPHYTE_VECTOR_UNARY(Name, expression)   \
  struct Name {                                   \
    simd::UnaryLoop floats{simd::Unary::k##Name}; \
    template <typename T>                         \
    T operator()(T x) const {                     \
      return expression;                          \
    }                                             \
  };
EPIPHYTE_DOUBLE_UNARY(Ceil, std::ceil(x))
EPIPHYTE_DOUBLE_UNARY(Floor, std::floor(x))
EPIPHYTE_DOUBLE_UNARY(Round, std::nearbyint(x))  // halves round to even
EPIPHYTE_DOUBLE_UNARY(Sqrt, std::sqrt(x))
EPIPHYTE_DOUBLE_UNARY(Reciprocal, T(1) / x)
EPIPHYTE_DOUBLE_UNARY(Exp, std::exp(x))
EPIPHYTE_VECTOR_UNARY(Log, std::log(x))
EPIPHYTE_DOUBLE_UNARY(Tanh, std::tanh(x))
EPIPHYTE_DOUBLE_UNARY(Sin, std::sin(x))
EPIPHYTE_DOUBLE_UNARY(Cos, std::cos(x))
EPIPHYTE_UNARY(Tan, std::tan(x))
EPIPHYTE_VECTOR_UNARY(Asin, std::asin(x))
EPIPHYTE_VECTOR_UNARY(Acos, std::acos(x))
EPIPHYTE_VECTOR_UNARY(Atan, std::atan(x))
EPIPHYTE_UNARY(Sinh, std::sinh(x))
EPIPHYTE_UNARY(Cosh, std::cosh(x))
EPIPHYTE_UNARY(Asinh, std::asinh(x))
EPIPHYTE_UNARY(Acosh, std::acosh(x))
EPIPHYTE_UNARY(Atanh, std::atanh(x))
#undef EPIPHYTE_VECTOR_UNARY
#undef EPIPHYTE_DOUBLE_UNARY
#undef EPIPHYTE_UNARY

template <typename Op>
using SignedKernel = UnaryKernel<Op, 1, float, double, Float16, BFloat16, int32_t, int64_t, int8_t, int16_t>;
template <typename Op, int kCost = 1>
using NumberKernel = UnaryKernel<Op, kCost, float, double, Float16, BFloat16, int32_t, int64_t, int8_t, int16_t,
                                 uint8_t, uint16_t, uint32_t, uint64_t>;
template <typename Op>
using IntegerKernel = UnaryKernel<Op, 1, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t>;

}  // namespace

void Register_unary_math(KernelRegistry& registry) {
  registry.Add<NumberKernel<Abs>>("Abs", 1, kNumbers);
  registry.Add<SignedKernel<Neg>>("Neg", 1, kFloats | kSigned);
  registry.Add<NumberKernel<Sign>>("Sign", 9, kNumbers);
  registry.Add<IntegerKernel<BitwiseNot>>("BitwiseNot", 18, kIntegers);
  registry.Add<UnaryKernel<Not, 1, bool>>("Not", 1, Types(EP_TYPE_BOOL));
  registry.Add<UnaryKernel<Ceil>>("Ceil", 1, kFloats);
  registry.Add<UnaryKernel<Floor>>("Floor", 1, kFloats);
  registry.Add<UnaryKernel<Round>>("Round", 11, kFloats);
  registry.Add<UnaryKernel<Sqrt, 4>>("Sqrt", 1, kFloats);
  registry.Add<UnaryKernel<Reciprocal, 2>>("Reciprocal", 1, kFloats);
  registry.Add<UnaryKernel<Exp, 8>>("Exp", 1, kFloats);
  registry.Add<UnaryKernel<Log, 8>>("Log", 1, kFloats);
  registry.Add<UnaryKernel<Tanh, 8>>("Tanh", 1, kFloats);
  registry.Add<NumberKernel<Erf, 16>>("Erf", 9, kNumbers);
  registry.Add<UnaryKernel<Sin, 8>>("Sin", 7, kFloats);
  registry.Add<UnaryKernel<Cos, 8>>("Cos", 7, kFloats);
  registry.Add<UnaryKernel<Tan, 32>>("Tan", 7, kFloats);
  registry.Add<UnaryKernel<Asin, 8>>("Asin", 7, kFloats);
  registry.Add<UnaryKernel<Acos, 8>>("Acos", 7, kFloats);
  registry.Add<UnaryKernel<Atan, 8>>("Atan", 7, kFloats);
  registry.Add<UnaryKernel<Sinh, 32>>("Sinh", 9, kFloats);
  registry.Add<UnaryKernel<Cosh, 32>>("Cosh", 9, kFloats);
  registry.Add<UnaryKernel<Asinh, 32>>("Asinh", 9, kFloats);
  registry.Add<UnaryKernel<Acosh, 32>>("Acosh", 9, kFloats);
  registry.Add<UnaryKernel<Atanh, 32>>("Atanh", 9, kFloats);
}

}  // namespace epiphyte::cpu
