// epiphyte.kit.QLinearAveragePool: AveragePool and GlobalAveragePool of what bytes are dequantised to, quantised again.
// Sums are exact; what follows is in float.
#include <algorithm>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/cpu/ops/quantized/channels_last.h"
#include "plugins/cpu/ops/quantized/quantized_ends.h"

namespace epiphyte::cpu {
namespace {

class QLinearAveragePoolKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kMakes;
  explicit QLinearAveragePoolKernel(const KernelInit& init)
      : attributes_(kit::PoolAttributes::Read(init.node(), init.node().Int("global", 0) != 0)),
        ends_(ReadByteEnds(init.node(), 1)),
        bounds_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.AnyLayoutInput(0);
    RequireBytes(x, "x");
    const ElementType type = x.type;
    const kit::Window window = attributes_.Resolve(x.dims);
    const LastOutput y(context, type, window.OutputDims(x.dims[0], x.dims[1]), &context.State<LastLayout>());
    const TapLines taps(window, x.dims);
    const int64_t channels = x.dims[1], positions = taps.positions();
    if (taps.lines() * positions * channels == 0) return;
    const uint8_t* const from = ChannelsLast(context, 0);
    const bool is_signed = type == EP_TYPE_INT8;
    const ResultBounds bounds = bounds_.Of(type);
    ParallelLoop(context, taps.lines(), positions * channels * 4, [&](int64_t begin, int64_t end) {
      std::vector<const uint8_t*> rows;
      std::vector<int32_t> sums(static_cast<size_t>(channels));
      std::vector<float> reals(static_cast<size_t>(channels));
      for (int64_t line = begin; line < end; ++line) {
        taps.Find(from, line, nullptr, taps.taps(), &rows);
        for (int64_t i = 0; i < positions; ++i) {
          const auto first = rows.begin() + i * taps.taps();
          const int64_t inside = std::remove(first, first + taps.taps(), nullptr) - first;
          simd::SumOfByteRows(inside == 0 ? nullptr : &*first, inside, is_signed, sums.data(), channels);
          const int64_t counted = std::max<int64_t>(attributes_.include_pad ? taps.InPadded(line, i) : inside, 1);
          const float zeros = static_cast<float>(inside) * ends_[0].zero;
          for (size_t c = 0; c < sums.size(); ++c)
            reals[c] = (static_cast<float>(sums[c]) - zeros) * ends_[0].scale / static_cast<float>(counted);
          QuantizeWithin(reals.data(), channels, ends_[1], bounds, is_signed,
                         static_cast<uint8_t*>(y.data()) + (line * positions + i) * channels);
        }
      }
    });
    y.Finish(context);
  }

 private:
  kit::PoolAttributes attributes_;
  std::vector<simd::ByteEnd> ends_;
  BoundsAttributes bounds_;
};

}  // namespace

void Register_quantized_pool(KernelRegistry& registry) {
  registry.Add<QLinearAveragePoolKernel>(kit::fuse::kQLinearAveragePool, 1, kByteTypes, INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
