// epiphyte.cpu.Normalization: layer normalisation (attribute rms 0) or RMS normalisation (1) over the last dimension,
// with scale and, for the former, bias.
#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernel/row_math.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

EPIPHYTE_MULTIVERSION void ScaleRow(const float* x, const float* scale, const float* bias, float mean, float factor,
                                    float* y, int64_t n) {
  if (bias == nullptr) {
#pragma GCC ivdep  // y may be x itself
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor * scale[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor * scale[i] + bias[i];
  }
}

class NormalizationKernel final : public Kernel {
 public:
  explicit NormalizationKernel(const KernelInit& init)
      : epsilon_(init.node().Float("epsilon", 1e-5f)), rms_(init.node().Int("rms", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& scale = context.Input(1);
    const Tensor* bias = context.OptionalInput(2);
    if (x.type != EP_TYPE_FLOAT || x.rank() == 0) FailOp("a float tensor of rank 1 or more expected");
    const int64_t n = x.dims.back();
    if (scale.Count() != n || (bias != nullptr && bias->Count() != n))
      FailOp("scale or bias does not have {} elements", n);
    const float* from = x.as<float>();
    const int64_t rows = n == 0 ? 0 : x.Count() / n;
    float* to = OutputLike(context, 0, x).as<float>();
    const float* scales = scale.as<float>();
    const float* biases = bias == nullptr ? nullptr : bias->as<float>();
    ParallelLoop(context, rows, n * 3, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* source = from + row * n;
        const float mean = rms_ ? 0.0f : SumFloats(source, n) / static_cast<float>(n);
        const float variance = SumFloatSquares(source, n, mean) / static_cast<float>(n);
        ScaleRow(source, scales, biases, mean, 1.0f / std::sqrt(variance + epsilon_), to + row * n, n);
      }
    });
  }

 private:
  float epsilon_;
  bool rms_;
};

}  // namespace

void Register_fused_normalization(KernelRegistry& registry) {
  registry.Add<NormalizationKernel>("Normalization", 1, Types(EP_TYPE_FLOAT), INT64_MAX, "epiphyte.cpu");
}

}  // namespace epiphyte::cpu
