// epiphyte.kit.QLinearSoftmax: dequantization, Softmax along the last axis, and quantization, some rows at a time, so
// that no float leaves the L1 cache.
#include <algorithm>
#include <vector>

#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/cpu/ops/math/softmax_float.h"
#include "plugins/cpu/ops/quantized/quant_params.h"

namespace epiphyte::cpu {
namespace {

class QLinearSoftmaxKernel final : public Kernel {
 public:
  explicit QLinearSoftmaxKernel(const KernelInit& init)
      : ends_(ReadQuantParams(init.node(), 1)), bounds_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    RequireBytes(x, "x");
    if (x.rank() == 0) FailOp("x is a scalar, expected at least one dimension");
    const bool is_signed = x.type == EP_TYPE_INT8;
    const ResultBounds bounds = bounds_.Of(x.type);
    Tensor& y = OutputLike(context, 0, x);
    if (y.Count() == 0) return;
    const int64_t n = x.dims[x.rank() - 1], block = std::max<int64_t>(1, kBlock / n);
    ParallelLoop(context, x.Count() / n, n * kSoftmaxCost, [&](int64_t begin, int64_t end) {
      std::vector<float> reals(static_cast<size_t>(std::min(block, end - begin) * n));
      for (int64_t row = begin; row < end; row += block) {
        const int64_t count = std::min(block, end - row) * n;
        DequantizeBytes(x.as<uint8_t>() + row * n, count, ends_[0], is_signed, reals.data());
        for (int64_t at = 0; at < count; at += n) SoftmaxRow(reals.data() + at, reals.data() + at, n, false);
        QuantizeClamped(reals.data(), count, ends_[1], bounds, is_signed, y.as<uint8_t>() + row * n);
      }
    });
  }

 private:
  static constexpr int64_t kBlock = 2048;  // elements

  std::vector<simd::QuantParams> ends_;
  BoundsAttributes bounds_;
};

}  // namespace

void Register_quantized_softmax(KernelRegistry& registry) {
  registry.Add<QLinearSoftmaxKernel>(kit::fuse::kQLinearSoftmax, 1, kByteTypes, INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
