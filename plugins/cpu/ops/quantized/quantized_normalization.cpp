// epiphyte.kit.QLinearLayerNormalization: dequantization, LayerNormalization and quantization, row by row, so that no
// float leaves the L1 cache.
#include <algorithm>
#include <cmath>
#include <vector>

#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/cpu/kernel/row_math.h"
#include "plugins/cpu/ops/nn/row_parameters.h"
#include "plugins/cpu/ops/quantized/quant_params.h"

namespace epiphyte::cpu {
namespace {

class QLinearLayerNormalizationKernel final : public Kernel {
 public:
  explicit QLinearLayerNormalizationKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", -1)),
        epsilon_(init.node().Float("epsilon", 1e-5f)),
        ends_(ReadQuantParams(init.node(), 1)),
        bounds_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    RequireBytes(x, "x");
    const size_t axis = kit::NormalizeAxis(axis_, x.rank());
    const Dims row(std::span<const int64_t>(x.dims).subspan(axis));
    const float* const scales = RowParameters<float>(context, context.Input(1), row, EP_TYPE_FLOAT);
    const Tensor* const bias = context.OptionalInput(2);
    const float* const biases = bias == nullptr ? nullptr : RowParameters<float>(context, *bias, row, EP_TYPE_FLOAT);
    const bool is_signed = x.type == EP_TYPE_INT8;
    const ResultBounds bounds = bounds_.Of(x.type);
    Tensor& y = OutputLike(context, 0, x);
    const int64_t n = row.Count();
    if (x.Count() == 0) return;
    const RowMath math;
    ParallelLoop(context, x.Count() / n, n * 3, [&](int64_t begin, int64_t end) {
      std::vector<float> buffer(static_cast<size_t>(n));
      float* const reals = buffer.data();
      for (int64_t i = begin; i < end; ++i) {
        DequantizeBytes(x.as<uint8_t>() + i * n, n, ends_[0], is_signed, reals);
        const float mean = math.Sum(reals, n) / static_cast<float>(n);
        const float variance = math.Squares(reals, n, mean) / static_cast<float>(n);
        const float inverse = 1.0f / std::sqrt(variance + epsilon_);
        math.Normalize(reals, reals, n, mean, inverse, scales, biases);
        QuantizeClamped(reals, n, ends_[1], bounds, is_signed, y.as<uint8_t>() + i * n);
      }
    });
  }

 private:
  int64_t axis_;
  float epsilon_;
  std::vector<simd::QuantParams> ends_;
  BoundsAttributes bounds_;
};

}  // namespace

void Register_quantized_normalization(KernelRegistry& registry) {
  registry.Add<QLinearLayerNormalizationKernel>(kit::fuse::kQLinearLayerNormalization, 1, kByteTypes, INT64_MAX,
                                                kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
