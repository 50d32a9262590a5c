// LayerNormalization and RMSNormalization: each row (all dimensions from the axis on) is normalized independently.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/row_math.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/nn/row_parameters.h"

namespace epiphyte::cpu {
namespace {

// Scale or bias for a tensor with the dimensions from `axis` on as rows.
template <typename T>
struct Parameters {
  const Compute<T>* values = nullptr;  // null: none
  int64_t row_step = 0;                // step between the parameters of two rows; 0: all rows share them

  Parameters() = default;
  // Parameters broadcast to the whole input, so each row may have its own.
  Parameters(OpContext& context, const Tensor& parameters, const Dims& x, size_t axis) {
    Tensor own = parameters;
    size_t above = parameters.rank() > x.size() - axis ? parameters.rank() - (x.size() - axis) : 0;
    const bool all_alike =
        std::all_of(own.dims.begin(), own.dims.begin() + above, [](int64_t dim) { return dim == 1; });
    if (!all_alike) {
      values = RowParameters<T>(context, own, x, kTypeOf<T>);
      row_step = x.Count(axis, x.size());
      return;
    }
    own.dims = Dims(std::span<const int64_t>(parameters.dims).subspan(above));
    values = RowParameters<T>(context, own, Dims(std::span<const int64_t>(x).subspan(axis)), kTypeOf<T>);
  }
  const Compute<T>* Of(int64_t row) const { return values == nullptr ? nullptr : values + row * row_step; }
};

template <bool kCentred>
class LayerNormalizationKernel : public Kernel {
 public:
  explicit LayerNormalizationKernel(const KernelInit& init)
      : name_(init.node().op_type), axis_(init.node().Int("axis", -1)), epsilon_(init.node().Float("epsilon", 1e-5f)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& scale = context.Input(1);
    const Tensor* bias = kCentred ? context.OptionalInput(2) : nullptr;
    const size_t axis = kit::NormalizeAxis(axis_, x.rank());
    Dims statistics = x.dims;
    for (size_t i = axis; i < x.rank(); ++i) statistics[i] = 1;
    const int64_t rows = statistics.Count();
    const int64_t n = x.dims.Count(axis, x.rank());
    const void* data = x.data;

    const auto run = [&]<typename T, typename S>() {
      using C = Compute<T>;
      const RowMath math;
      const Parameters<S> scales(context, scale, x.dims, axis);
      const Parameters<S> biases = bias == nullptr ? Parameters<S>() : Parameters<S>(context, *bias, x.dims, axis);
      Tensor& y = std::is_same_v<T, S> ? OutputLike(context, 0, x) : context.Output(0, kTypeOf<S>, x.dims);
      C* means = Statistics<C>(context, 1, statistics);
      C* inverses = Statistics<C>(context, 2, statistics);
      ParallelLoop(context, rows, n * 2, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* from = static_cast<const T*>(data) + i * n;
          const C mean = kCentred ? math.Sum(from, n) / static_cast<C>(n) : C(0);
          const C variance = math.Squares(from, n, mean) / static_cast<C>(n);
          const C inverse = C(1) / std::sqrt(variance + static_cast<C>(epsilon_));
          math.Normalize<T, S>(from, y.template as<S>() + i * n, n, mean, inverse, scales.Of(i), biases.Of(i));
          if (means != nullptr) means[i] = mean;
          if (inverses != nullptr) inverses[i] = inverse;
        }
      });
    };
    // The scale of RMSNormalization may have another type, which is then the type of the result.
    DispatchFloats(x.type, name_, [&]<typename T>() {
      if constexpr (kCentred) {
        run.template operator()<T, T>();
      } else {
        DispatchFloats(scale.type, name_, [&]<typename S>() { run.template operator()<T, S>(); });
      }
    });
  }

 private:
  // Optional outputs Mean and InvStdDev, in the type of the computation.
  template <typename C>
  static C* Statistics(OpContext& context, size_t i, const Dims& dims) {
    if (!kCentred || !context.HasOutput(i)) return nullptr;
    return context.Output(i, kTypeOf<C>, dims).template as<C>();
  }

  std::string name_;
  int64_t axis_;
  float epsilon_;
};

}  // namespace

void Register_layer_normalization(KernelRegistry& registry) {
  registry.Add<LayerNormalizationKernel<true>>("LayerNormalization", 17, kFloats);
  registry.Add<LayerNormalizationKernel<false>>("RMSNormalization", 23, kFloats);
}

}  // namespace epiphyte::cpu
