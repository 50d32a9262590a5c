// epiphyte.kit.QLinearAveragePool: dequantization, AveragePool or GlobalAveragePool, and quantization. Sums are exact;
// the rest is computed in float. This file also has com.microsoft's NhwcMaxPool.
#include <algorithm>

#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/cpu/ops/quantized/byte_pool.h"
#include "plugins/cpu/ops/quantized/quant_params.h"

namespace epiphyte::cpu {
namespace {

class QLinearAveragePoolKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kMakes;
  explicit QLinearAveragePoolKernel(const KernelInit& init)
      : attributes_(kit::PoolAttributes::Read(init.node(), init.node().Int("global", 0) != 0)),
        ends_(ReadQuantParams(init.node(), 1)),
        bounds_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.AnyLayoutInput(0);
    RequireBytes(x, "x");
    const ElementType type = x.type;
    const bool is_signed = type == EP_TYPE_INT8;
    const ResultBounds bounds = bounds_.Of(type);
    // Row-major planes are summed in place, without a transposition.
    if (attributes_.global && x.layout == nullptr && x.Count() != 0) return RunPlanes(context, x, bounds);
    PoolBytes(context, attributes_, ChannelAxis::kSecond, 4, {}, [&](const TapLines& taps, int64_t channels) {
      return [this, &taps, channels, is_signed, bounds, sums = std::vector<int32_t>(static_cast<size_t>(channels)),
              reals = std::vector<float>(static_cast<size_t>(channels))](const BytePoolPosition& at) mutable {
        simd::SumOfByteRows(at.rows, at.count, is_signed, sums.data(), channels);
        const int64_t counted =
            std::max<int64_t>(attributes_.include_pad ? taps.InPadded(at.line, at.position) : at.count, 1);
        for (size_t c = 0; c < sums.size(); ++c) reals[c] = Mean(sums[c], at.count, counted);
        QuantizeClamped(reals.data(), channels, ends_[1], bounds, is_signed, at.to);
      };
    });
  }

 private:
  float Mean(int32_t sum, int64_t count, int64_t counted) const {
    const float zeros = static_cast<float>(count) * ends_[0].zero;
    return (static_cast<float>(sum) - zeros) * ends_[0].scale / static_cast<float>(counted);
  }

  void RunPlanes(OpContext& context, const Tensor& x, ResultBounds bounds) const {
    const kit::Window window = attributes_.Resolve(x.dims);
    const bool is_signed = x.type == EP_TYPE_INT8;
    const int64_t planes = x.dims[0] * x.dims[1], size = x.Count() / planes;
    Tensor& y = context.Output(0, x.type, window.OutputDims(x.dims[0], x.dims[1]));
    // Flipping the highest bit turns int8 into uint8 with an offset of 128.
    const uint8_t flip = is_signed ? 0x80 : 0;
    ParallelLoop(context, planes, size / 8, [&](int64_t begin, int64_t end) {
      std::vector<float> means(static_cast<size_t>(end - begin));
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t sum = simd::SumOfBytes(x.as<uint8_t>() + plane * size, size, flip) - flip * size;
        means[static_cast<size_t>(plane - begin)] = Mean(static_cast<int32_t>(sum), size, size);
      }
      QuantizeClamped(means.data(), end - begin, ends_[1], bounds, is_signed, y.as<uint8_t>() + begin);
    });
  }

  kit::PoolAttributes attributes_;
  std::vector<simd::QuantParams> ends_;
  BoundsAttributes bounds_;
};

class NhwcMaxPoolKernel final : public Kernel {
 public:
  explicit NhwcMaxPoolKernel(const KernelInit& init) : attributes_(kit::PoolAttributes::Read(init.node(), false)) {}
  void Run(OpContext& context) const override { MaxPoolOfBytes(context, attributes_, ChannelAxis::kLast); }

 private:
  kit::PoolAttributes attributes_;
};

}  // namespace

void Register_quantized_pool(KernelRegistry& registry) {
  registry.Add<NhwcMaxPoolKernel>("NhwcMaxPool", 1, kByteTypes, INT64_MAX, "com.microsoft");
  registry.Add<QLinearAveragePoolKernel>(kit::fuse::kQLinearAveragePool, 1, kByteTypes, INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
