// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp and
// ReduceSumSquare. The axes are an attribute in old versions and an input in new ones.
#include <cmath>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/laid_out_reduction.h"
#include "plugins/cpu/ops/math/reduction_operators.h"

namespace epiphyte::cpu {
namespace {

template <typename Op>
inline constexpr bool kOrders = std::is_base_of_v<Largest, Op>;

template <typename Op>
class ReduceKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kTakesAny;

  explicit ReduceKernel(const KernelInit& init)
      : name_(init.node().op_type),
        axes_(std::span<const int64_t>(init.node().Ints("axes"))),
        axes_are_input_(init.node().since_version >= (name_ == "ReduceSum" ? 13 : 18)),
        keep_(kit::CheckedKeepDims(init.node().Int("keepdims", 1))),
        noop_(init.node().Int("noop_with_empty_axes", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& any = context.AnyLayoutInput(0);
    Dims axes = axes_;
    if (axes_are_input_ && context.HasInput(1)) axes = IntegersOf(context.Input(1), "axes");
    if (axes.empty() && noop_) return context.OutputAlias(0, 0, context.Input(0).dims);
    const std::vector<bool> mask = axes.empty() ? std::vector<bool>(any.rank(), true) : kit::AxesMask(axes, any.rank());
    const std::optional<ReductionShape> as_it_lies = ReductionInMemory(any, mask);
    const Tensor& x = as_it_lies ? any : context.Input(0);
    const ReductionShape shape = as_it_lies ? *as_it_lies : ReductionShape(x.dims, mask);
    Tensor& y = context.Output(0, x.type, kit::ReducedDims(x.dims, mask, keep_));
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
      Reduce<A>(context, Largest(), shape, x.as<T>(), nullptr, largest);
      for (int64_t i = 0; i < shape.outputs(); ++i) largest[i] = std::isfinite(largest[i]) ? largest[i] : A(0);
      shifts = largest;
    }
    Reduce<A>(context, Op(), shape, x.as<T>(), shifts, y.as<T>());
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
