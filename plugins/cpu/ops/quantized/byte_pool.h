// Channels-last byte pools: their common loop, and MaxPool.
//
//     PoolBytes(context, attributes, axis, 4, {}, [&](const TapLines& taps, int64_t channels) {
//       return [=, sums = std::vector<int32_t>(…)](const BytePoolPosition& at) mutable { … };   // one for each share
//     });
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/quantized/channels_last.h"

namespace epiphyte::cpu {

// Position `position` in a line of the result. `rows`: the channel rows of its window's taps inside the input, possibly
// none; or of all taps. `to`: its own row.
struct BytePoolPosition {
  const uint8_t* const* rows;
  int64_t count;
  int64_t line, position;
  uint8_t* to;
};

// Pools input 0 (int8 or uint8, at least one spatial dimension) to output 0 of the same type. `make(taps, channels)`
// returns the function that computes a position's row; each share of the work has its own one. `cost`: cost of an
// element, in additions. `outside`: byte for taps outside the input; without it, such taps are left out.
template <typename Make>
void PoolBytes(OpContext& context, const kit::PoolAttributes& attributes, ChannelAxis axis, int64_t cost,
               std::optional<uint8_t> outside, const Make& make) {
  const Tensor& x = axis == ChannelAxis::kLast ? context.Input(0) : context.AnyLayoutInput(0);
  const Dims dims = WithChannelsSecond(x.dims, axis);
  const kit::Window window = attributes.Resolve(dims);
  const int64_t channels = dims[1];
  const LastOutput y(context, x.type, window.OutputDims(dims[0], channels), &context.State<LastLayout>(), axis);
  const TapLines taps(window, dims);
  const int64_t positions = taps.positions();
  if (taps.lines() * positions * channels == 0) return;
  const uint8_t* const from = ChannelsLast(context, 0, axis);
  uint8_t* const beside = outside ? static_cast<uint8_t*>(context.Scratch(static_cast<uint64_t>(channels))) : nullptr;
  if (outside) std::fill_n(beside, channels, *outside);
  ParallelLoop(context, taps.lines(), positions * channels * cost, [&](int64_t begin, int64_t end) {
    auto make_row = make(taps, channels);
    std::vector<const uint8_t*> rows;
    for (int64_t line = begin; line < end; ++line) {
      taps.Find(from, line, beside, taps.taps(), &rows);
      for (int64_t i = 0; i < positions; ++i) {
        const auto first = rows.begin() + i * taps.taps();
        const int64_t count = outside ? taps.taps() : std::remove(first, first + taps.taps(), nullptr) - first;
        make_row(BytePoolPosition{count == 0 ? nullptr : &*first, count, line, i,
                                  static_cast<uint8_t*>(y.data()) + (line * positions + i) * channels});
      }
    }
  });
  y.Finish(context);
}

// Windows outside the input give the lowest value.
void MaxPoolOfBytes(OpContext& context, const kit::PoolAttributes& attributes, ChannelAxis axis = ChannelAxis::kSecond);

}  // namespace epiphyte::cpu
