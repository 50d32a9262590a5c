// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp and
// ReduceSumSquare. The axes are an attribute in old versions and an input in new ones.
#include <cmath>
#include <limits>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/reduction.h"
#include "plugins/cpu/simd/arithmetic.h"

namespace epiphyte::cpu {
namespace {

// Integers are accumulated in 64 bits; where the result is a root or logarithm, in double.
template <typename T>
using WideAcc = std::conditional_t<std::is_integral_v<T>, int64_t, Compute<T>>;
template <typename T>
using RealAcc = std::conditional_t<std::is_integral_v<T>, double, Compute<T>>;

struct Sum {
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
  static constexpr simd::Reduction kFloats = simd::Reduction::kSumOfMagnitudes;
  template <typename A>
  A Load(A x, A) const {
    return x < A(0) ? Sub()(A(0), x) : x;
  }
};
struct SumSquare : Sum {
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
// The shift is the maximum, so that nothing overflows; one that isn't finite is left out, and the result is as it.
struct LogSumExp : Sum {
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

template <typename Op>
inline constexpr bool kOrders = std::is_base_of_v<Largest, Op>;

template <typename Op>
class ReduceKernel : public Kernel {
 public:
  explicit ReduceKernel(const KernelInit& init)
      : name_(init.node().op_type),
        axes_(std::span<const int64_t>(init.node().Ints("axes"))),
        axes_are_input_(init.node().since_version >= (name_ == "ReduceSum" ? 13 : 18)),
        keep_(kit::CheckedKeepDims(init.node().Int("keepdims", 1))),
        noop_(init.node().Int("noop_with_empty_axes", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    Dims axes = axes_;
    if (axes_are_input_ && context.HasInput(1)) axes = IntegersOf(context.Input(1), "axes");
    if (axes.empty() && noop_) return context.OutputAlias(0, 0, x.dims);
    const std::vector<bool> mask = axes.empty() ? std::vector<bool>(x.rank(), true) : kit::AxesMask(axes, x.rank());
    Tensor& y = context.Output(0, x.type, kit::ReducedDims(x.dims, mask, keep_));
    const ReductionShape shape(x.dims, mask);
    const auto run = [&]<typename T>() { RunTyped<T>(context, shape, x, y); };
    if constexpr (kOrders<Op>) {
      Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               uint64_t, bool>(x.type, name_, run);
    } else {
      Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t, int8_t, uint8_t>(x.type, name_,
                                                                                                        run);
    }
  }

 private:
  template <typename T>
  static void RunTyped(OpContext& context, const ReductionShape& shape, const Tensor& x, Tensor& y) {
    using A = typename Op::template Acc<T>;
    const A* shifts = nullptr;
    if constexpr (std::is_same_v<Op, LogSumExp>) {
      A* largest = static_cast<A*>(context.Scratch(static_cast<uint64_t>(shape.outputs()) * sizeof(A)));
      Reduce<Largest, T, A, A>(context, Largest(), shape, x.as<T>(), nullptr, largest);
      for (int64_t i = 0; i < shape.outputs(); ++i) largest[i] = std::isfinite(largest[i]) ? largest[i] : A(0);
      shifts = largest;
    }
    Reduce<Op, T, T, A>(context, Op(), shape, x.as<T>(), shifts, y.as<T>());
  }

  std::string name_;
  Dims axes_;
  bool axes_are_input_;
  bool keep_;
  bool noop_;
};

}  // namespace

void Register_reduce(KernelRegistry& registry) {
  constexpr TypeSet kTypes =
      kFloats | Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_UINT32, EP_TYPE_UINT64, EP_TYPE_INT8, EP_TYPE_UINT8);
  constexpr TypeSet kOrdered = kNumbers | Types(EP_TYPE_BOOL);
  registry.Add<ReduceKernel<Sum>>("ReduceSum", 1, kTypes);
  registry.Add<ReduceKernel<Mean>>("ReduceMean", 1, kTypes);
  registry.Add<ReduceKernel<Prod>>("ReduceProd", 1, kTypes);
  registry.Add<ReduceKernel<Largest>>("ReduceMax", 1, kOrdered);
  registry.Add<ReduceKernel<Smallest>>("ReduceMin", 1, kOrdered);
  registry.Add<ReduceKernel<L1>>("ReduceL1", 1, kTypes);
  registry.Add<ReduceKernel<L2>>("ReduceL2", 1, kTypes);
  registry.Add<ReduceKernel<LogSum>>("ReduceLogSum", 1, kTypes);
  registry.Add<ReduceKernel<LogSumExp>>("ReduceLogSumExp", 1, kTypes);
  registry.Add<ReduceKernel<SumSquare>>("ReduceSumSquare", 1, kTypes);
}

}  // namespace epiphyte::cpu
