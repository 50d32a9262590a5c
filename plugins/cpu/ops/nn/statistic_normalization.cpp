// MeanVarianceNormalization and LpNormalization: statistics over any axes, without learned parameters.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/math/reduction.h"
#include "plugins/cpu/ops/math/reduction_operators.h"

namespace epiphyte::cpu {
namespace {

// Sum of squared deviations; the shift is the mean.
struct Deviation : Mean {
  using Fold = Deviation;
  static constexpr simd::Reduction kFloats = simd::Reduction::kSumOfSquaredDistances;
  template <typename A>
  A Load(A x, A shift) const {
    return (x - shift) * (x - shift);
  }
  template <typename A>
  A Finish(A a, int64_t n, A) const {
    return std::sqrt(a / static_cast<A>(n));
  }
};

class MeanVarianceKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit MeanVarianceKernel(const KernelInit& init) : axes_(init.node().Ints("axes")) {
    if (axes_.empty()) axes_ = {0, 2, 3};
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const std::vector<bool> mask = kit::AxesMask(axes_, x.rank());
    const ReductionShape shape(x.dims, mask);
    const Dims statistics = kit::ReducedDims(x.dims, mask, true);
    Tensor& y = context.Output(0, x.type, x.dims);
    DispatchFloats(x.type, "MeanVarianceNormalization", [&]<typename T>() {
      using C = Compute<T>;
      const uint64_t bytes = static_cast<uint64_t>(shape.outputs()) * sizeof(C);
      C* means = static_cast<C*>(context.Scratch(bytes));
      C* deviations = static_cast<C*>(context.Scratch(bytes));
      Reduce<C>(context, Mean(), shape, x.as<T>(), nullptr, means);
      Reduce<C>(context, Deviation(), shape, x.as<T>(), means, deviations);
      const kit::BroadcastLoop<2> loop(x.dims, {&x.dims, &statistics});
      ParallelLoop(context, loop.count(), 4, [&](int64_t begin, int64_t end) {
        loop.Run(begin, end, [&](int64_t n, int64_t offset, const kit::BroadcastLoop<2>::Operands& in) {
          for (int64_t i = 0; i < n; ++i) {
            const int64_t at = in[1].offset + i * in[1].stride;
            const C centred = static_cast<C>(x.as<T>()[offset + i]) - means[at];
            y.as<T>()[offset + i] = static_cast<T>(centred / (deviations[at] + C(1e-9)));
          }
        });
      });
    });
  }

 private:
  std::vector<int64_t> axes_;
};

class LpNormalizationKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit LpNormalizationKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", -1)), p_(init.node().Int("p", 2)) {
    if (p_ != 1 && p_ != 2) FailOp("p is {}, expected 1 or 2", p_);
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const kit::AxisView view(x.dims, kit::NormalizeAxis(axis_, x.rank()));
    Tensor& y = context.Output(0, x.type, x.dims);
    DispatchFloats(x.type, "LpNormalization", [&]<typename T>() {
      if constexpr (!kIsSmallFloat<T>)
        if (view.inner == 1) return NormalizeRows(context, view, x.as<T>(), y.as<T>());
      NormalizeColumns(context, view, x.as<T>(), y.as<T>());
    });
  }

 private:
  template <typename T>
  void NormalizeRows(OpContext& context, const kit::AxisView& view, const T* x, T* y) const {
    using Divide = std::conditional_t<std::is_same_v<T, float>, simd::BinaryLoop, simd::NumberLoop<double>>;
    const Divide divide = [] {
      if constexpr (std::is_same_v<T, float>)
        return Divide(simd::Binary::kDiv);
      else
        return Divide(simd::NumberFunction::kDiv);
    }();
    const simd::ReduceLoopOf<T> sum(p_ == 1 ? simd::Reduction::kSumOfMagnitudes : simd::Reduction::kSumOfSquares);
    ParallelLoop(context, view.outer, view.size, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * view.size; at < end * view.size; at += view.size) {
        const T total = sum(x + at, view.size), norm = p_ == 2 ? std::sqrt(total) : total;
        if (norm == T(0)) {
          std::fill_n(y + at, view.size, T(0));
        } else {
          divide(x + at, 1, &norm, 0, y + at, view.size);
        }
      }
    });
  }

  // Number of columns processed together.
  static constexpr int64_t kColumns = 64;
  template <typename T>
  void NormalizeColumns(OpContext& context, const kit::AxisView& view, const T* x, T* y) const {
    const int64_t parts = (view.inner + kColumns - 1) / kColumns;
    ParallelLoop(context, view.outer * parts, view.size * 2 * std::min(kColumns, view.inner),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t first = i % parts * kColumns, count = std::min(kColumns, view.inner - first);
                     const int64_t base = i / parts * view.size * view.inner + first;
                     NormalizePart(x + base, y + base, view, count);
                   }
                 });
  }
  template <typename T, typename C = Compute<T>>
  void NormalizePart(const T* x, T* y, const kit::AxisView& view, int64_t count) const {
    C norms[kColumns] = {};
    for (int64_t j = 0; j < view.size; ++j) {
      const T* const row = x + j * view.inner;
      if (p_ == 1) {
        for (int64_t i = 0; i < count; ++i) norms[i] += std::fabs(static_cast<C>(row[i]));
      } else {
        for (int64_t i = 0; i < count; ++i) norms[i] += static_cast<C>(row[i]) * static_cast<C>(row[i]);
      }
    }
    if (p_ == 2)
      for (int64_t i = 0; i < count; ++i) norms[i] = std::sqrt(norms[i]);
    for (int64_t j = 0; j < view.size; ++j) {
      for (int64_t i = 0, at = j * view.inner; i < count; ++i) {
        const C quotient = static_cast<C>(x[at + i]) / norms[i];
        y[at + i] = static_cast<T>(norms[i] == C(0) ? C(0) : quotient);
      }
    }
  }

  int64_t axis_;
  int64_t p_;
};

}  // namespace

void Register_statistic_normalization(KernelRegistry& registry) {
  registry.Add<MeanVarianceKernel>("MeanVarianceNormalization", 9, kFloats);
  registry.Add<LpNormalizationKernel>("LpNormalization", 1, kFloats);
}

}  // namespace epiphyte::cpu
