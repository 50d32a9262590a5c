#include "plugins/cpu/ops/nn/last_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/window/float_rows.h"

namespace epiphyte::cpu {
namespace {

// True for small, undilated windows that all contain an input element.
bool HasElements(const kit::Window& window, const Dims& dims) {
  constexpr int64_t kMostTaps = 64;
  int64_t taps = 1;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    if (window.dilations[d] != 1 || window.kernel[d] > kMostTaps / taps) return false;
    taps *= window.kernel[d];
    // The first and the last window have the fewest taps inside.
    for (const int64_t at : {int64_t{0}, window.output[d] - 1})
      if (window.TapsInside(d, at, dims[d + 2]).count <= 0) return false;
  }
  return true;
}

// Divisors for the sums of a line's windows. `rows`: found by TapLines.
void FindDivisors(const TapLines& taps, int64_t line, bool include_pad, const TapRun& run, const uint8_t* outside,
                  const std::vector<const uint8_t*>& rows, std::vector<float>* divisors) {
  for (int64_t i = 0; i < taps.positions(); ++i) {
    int64_t count = taps.taps();
    if (!run.positions.Has(i)) {
      const auto first = rows.begin() + i * taps.taps();
      count = include_pad ? taps.InPadded(line, i) : count - std::count(first, first + taps.taps(), outside);
    }
    (*divisors)[static_cast<size_t>(i)] = static_cast<float>(count);
  }
}

// The pooling loop. `dims` are [N, C, ...]; x and y have channels last.
void PoolRows(OpContext& context, bool largest, const kit::PoolAttributes& attributes, const kit::Window& window,
              const Dims& dims, const Tensor& x, float* y) {
  const int64_t channels = dims[1];
  Dims bytes = dims;
  bytes[1] *= static_cast<int64_t>(sizeof(float));
  const TapLines taps(window, bytes);
  auto* const outside = static_cast<float*>(context.Scratch(static_cast<uint64_t>(channels) * sizeof(float)));
  std::fill_n(outside, channels, largest ? -std::numeric_limits<float>::infinity() : 0.0f);
  const auto* const beside = reinterpret_cast<const uint8_t*>(outside);
  const int64_t positions = taps.positions();
  ParallelLoop(context, taps.lines(), positions * channels * taps.taps() / 4, [&](int64_t begin, int64_t end) {
    std::vector<const uint8_t*> rows;
    std::vector<float> divisors(static_cast<size_t>(largest ? 0 : positions));
    for (int64_t line = begin; line < end; ++line) {
      const TapRun run = taps.FindRun(x.as<uint8_t>(), line, beside, taps.taps(), &rows);
      if (!largest) FindDivisors(taps, line, attributes.include_pad, run, beside, rows, &divisors);
      simd::FloatPool pool;
      pool.rows = reinterpret_cast<const float* const*>(rows.data());
      pool.positions = positions;
      pool.taps = taps.taps();
      pool.channels = channels;
      pool.run_first = run.positions.first;
      pool.run_end = run.positions.end;
      pool.run_step = run.step / static_cast<int64_t>(sizeof(float));
      pool.divisors = largest ? nullptr : divisors.data();
      pool.without_nan = std::isfinite(x.limit);
      pool.y = y + line * positions * channels;
      simd::RunFloatPool(pool);
    }
  });
}

}  // namespace

bool PoolChannelsLast(OpContext& context, bool largest, const kit::PoolAttributes& attributes, LastLayout* layout) {
  const Tensor& x = context.AnyLayoutInput(0);
  if (x.layout == nullptr || x.Count() == 0) return false;
  const bool in_blocks = largest && x.layout->order && x.layout->order->block > 1;
  if (!in_blocks && !LiesChannelsLast(x)) return false;
  const kit::Window window = attributes.Resolve(x.dims);
  const Dims y_dims = window.OutputDims(x.dims[0], x.dims[1]);
  if (y_dims.Count() == 0 || !HasElements(window, x.dims)) return false;
  if (!in_blocks) {
    const LastOutput y(context, EP_TYPE_FLOAT, y_dims, layout);
    PoolRows(context, largest, attributes, window, x.dims, x, static_cast<float*>(y.data()));
    y.Finish(context);
    return true;
  }
  // Each block of channels is processed as an image with channels last.
  const AxisOrder& order = *x.layout->order;
  if (!(layout->dims == y_dims) || layout->layout == nullptr) {
    layout->dims = y_dims;
    layout->layout = MakeLayout(order, EP_TYPE_FLOAT, y_dims);
  }
  Dims dims = x.dims;
  dims[0] *= dims[1] / order.block;
  dims[1] = order.block;
  Tensor& y = context.OutputWithLayout(0, EP_TYPE_FLOAT, y_dims, layout->layout,
                                       ElementBytes(EP_TYPE_FLOAT, static_cast<uint64_t>(y_dims.Count())));
  PoolRows(context, largest, attributes, window, dims, x, y.as<float>());
  y.limit = x.limit;  // valid because each window has an element
  return true;
}

}  // namespace epiphyte::cpu
