#include "plugins/cpu/ops/quantized/byte_pool.h"

#include <algorithm>

#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/quantized/channels_last.h"
#include "plugins/cpu/simd/byte_rows.h"

namespace epiphyte::cpu {

void MaxPoolOfBytes(OpContext& context, const kit::PoolAttributes& attributes) {
  const Tensor& x = context.AnyLayoutInput(0);
  const ElementType type = x.type;
  const kit::Window window = attributes.Resolve(x.dims);
  const LastOutput y(context, type, window.OutputDims(x.dims[0], x.dims[1]), &context.State<LastLayout>());
  const TapLines taps(window, x.dims);
  const int64_t channels = x.dims[1], positions = taps.positions();
  if (taps.lines() * positions * channels == 0) return;
  const uint8_t* const from = ChannelsLast(context, 0);
  const bool is_signed = type == EP_TYPE_INT8;
  ParallelLoop(context, taps.lines(), positions * channels, [&](int64_t begin, int64_t end) {
    std::vector<const uint8_t*> rows;
    for (int64_t line = begin; line < end; ++line) {
      taps.Find(from, line, nullptr, taps.taps(), &rows);
      for (int64_t i = 0; i < positions; ++i) {
        const auto first = rows.begin() + i * taps.taps();
        const int64_t count = std::remove(first, first + taps.taps(), nullptr) - first;
        uint8_t* const to = static_cast<uint8_t*>(y.data()) + (line * positions + i) * channels;
        if (count == 0) {
          std::fill_n(to, channels, static_cast<uint8_t>(is_signed ? 0x80 : 0));
        } else {
          simd::MaxOfByteRows(&*first, count, is_signed, to, channels);
        }
      }
    }
  });
  y.Finish(context);
}

}  // namespace epiphyte::cpu
