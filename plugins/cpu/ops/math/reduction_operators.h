// Reduction operations for the loops of reduction.h.
#pragma once

#include <cmath>
#include <limits>

#include "plugins/cpu/ops/math/reduction.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"

namespace epiphyte::cpu {

// Accumulator: 64 bits for integers, or double when the result is a root or logarithm.
template <typename T>
using WideAcc = std::conditional_t<std::is_integral_v<T>, int64_t, Compute<T>>;
template <typename T>
using RealAcc = std::conditional_t<std::is_integral_v<T>, double, Compute<T>>;

struct Sum {
  using Fold = Sum;
  static constexpr simd::Reduction kFloats = simd::Reduction::kSum;
  template <typename T>
  using Acc = WideAcc<T>;
  template <typename A>
  A Initial() const {
    return A(0);
  }
  template <typename A>
  A Load(A x, A) const {
    return x;
  }
  template <typename A>
  A Combine(A a, A b) const {
    return Add()(a, b);
  }
  template <typename A>
  A Finish(A a, int64_t, A) const {
    return a;
  }
};
struct Mean : Sum {
  template <typename A>
  A Finish(A a, int64_t n, A) const {
    return Div()(a, static_cast<A>(n));
  }
};
struct Prod : Sum {
  using Fold = Prod;
  static constexpr simd::Reduction kFloats = simd::Reduction::kProduct;
  template <typename A>
  A Initial() const {
    return A(1);
  }
  template <typename A>
  A Combine(A a, A b) const {
    return Mul()(a, b);
  }
};
struct L1 : Sum {
  using Fold = L1;
  static constexpr simd::Reduction kFloats = simd::Reduction::kSumOfMagnitudes;
  template <typename A>
  A Load(A x, A) const {
    return x < A(0) ? Sub()(A(0), x) : x;
  }
};
struct SumSquare : Sum {
  using Fold = SumSquare;
  static constexpr simd::Reduction kFloats = simd::Reduction::kSumOfSquares;
  template <typename A>
  A Load(A x, A) const {
    return Mul()(x, x);
  }
};
struct L2 : SumSquare {
  template <typename T>
  using Acc = RealAcc<T>;
  template <typename A>
  A Finish(A a, int64_t, A) const {
    return std::sqrt(a);
  }
};
struct LogSum : Sum {
  template <typename T>
  using Acc = RealAcc<T>;
  template <typename A>
  A Finish(A a, int64_t, A) const {
    return std::log(a);
  }
};
// The shift is the maximum, which avoids overflow. A non-finite maximum is not subtracted, and is itself the result.
struct LogSumExp : Sum {
  using Fold = LogSumExp;
  static constexpr simd::Reduction kFloats = simd::Reduction::kSumOfExponentials;
  template <typename T>
  using Acc = RealAcc<T>;
  template <typename A>
  A Load(A x, A shift) const {
    return std::exp(x - shift);
  }
  template <typename A>
  A Finish(A a, int64_t, A shift) const {
    return std::log(a) + shift;
  }
};
struct Largest : Sum {
  using Fold = Largest;
  static constexpr simd::Reduction kFloats = simd::Reduction::kLargest;
  template <typename T>
  using Acc = Compute<T>;
  template <typename A>
  A Initial() const {
    return std::is_integral_v<A> ? std::numeric_limits<A>::lowest() : -std::numeric_limits<A>::infinity();
  }
  template <typename A>
  A Combine(A a, A b) const {
    return Max()(a, b);
  }
};
struct Smallest : Largest {
  using Fold = Smallest;
  static constexpr simd::Reduction kFloats = simd::Reduction::kSmallest;
  template <typename A>
  A Initial() const {
    return std::is_integral_v<A> ? std::numeric_limits<A>::max() : std::numeric_limits<A>::infinity();
  }
  template <typename A>
  A Combine(A a, A b) const {
    return Min()(a, b);
  }
};

}  // namespace epiphyte::cpu
