#include "plugins/cpu/onednn/split_window.h"

#include <algorithm>
#include <atomic>

#include "epiphyte/kit/shape/round_up.hpp"
#include "plugins/cpu/onednn/buffered_items.h"
#include "plugins/cpu/onednn/split_panels.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/simd/gemm/split_product.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kChunk = simd::kSplitTileColumns;

using kit::RoundUp;

// Writes one line of a phase: both parts of its pixels, and zeros for padding. False when a number is not finite.
bool SplitLine(const SplitWindow& w, const SplitWindow::Phase& phase, int64_t line, const float* image, uint16_t* to) {
  const int64_t stride = w.plane() * static_cast<int64_t>(w.phases.size());
  const auto clear = [&](int64_t pixel, int64_t count) {
    for (int64_t c = 0; c < w.chunks; ++c)
      std::fill_n(to + c * stride + pixel * simd::kSplitPixel, count * simd::kSplitPixel, uint16_t{0});
  };
  const int64_t y = line * w.y.stride + phase.y - w.y.pad;
  if (y < 0 || y >= w.y.in) {
    clear(0, w.x.pixels);
    return true;
  }
  // Pixel i is x = i * stride + begin.
  const int64_t begin = phase.x - w.x.pad;
  const int64_t first = std::min(begin >= 0 ? 0 : (-begin + w.x.stride - 1) / w.x.stride, w.x.pixels);
  const int64_t left = w.x.in - begin;
  const int64_t end = std::clamp(left <= 0 ? 0 : (left + w.x.stride - 1) / w.x.stride, first, w.x.pixels);
  clear(0, first);
  clear(end, w.x.pixels - end);
  const float* const from = image + (y * w.x.in + first * w.x.stride + begin) * w.channels;
  return simd::SplitPixels(from, w.x.stride * w.channels, end - first, w.channels, to + first * simd::kSplitPixel,
                           stride);
}

}  // namespace

std::optional<MemoryDesc> SplitWindowDesc(std::span<const int64_t> dims) {
  constexpr int64_t kColumns = simd::kSplitPanel, kStep = kChunk * kColumns;
  BlockedDesc d;
  d.blocked = true;
  d.dims.assign(dims.begin(), dims.end());
  d.padded = d.dims;
  d.padded[0] = RoundUp(dims[0], kColumns);
  d.padded[1] = RoundUp(dims[1], kChunk);
  d.strides.assign(dims.size(), 0);
  int64_t distance = kStep;
  for (size_t i = dims.size(); i-- > 2; distance *= dims[i]) d.strides[i] = distance;
  d.strides[1] = distance;
  d.strides[0] = distance * (d.padded[1] / kChunk);
  d.block_sizes = {kChunk / 2, kColumns, 2};
  d.block_dims = {1, 0, 1};
  return MakeDesc(d, EP_TYPE_FLOAT);
}

int64_t SplitWindow::results_before(int64_t row) const {
  return row / x.pixels * x.out + std::min(row % x.pixels, x.out);
}

int64_t SplitWindow::plane() const { return y.pixels * x.pixels * simd::kSplitPixel; }

std::optional<SplitWindow> SplitWindow::Of(const kit::ConvolutionShape& shape) {
  const size_t spatial = shape.spatial();
  if (spatial < 1 || spatial > 2 || shape.group != 1 || shape.y.Count() == 0 || shape.w.Count() == 0)
    return std::nullopt;
  SplitWindow w;
  w.images = shape.x[0];
  w.channels = shape.x[1];
  w.filters = shape.filters();
  w.chunks = RoundUp(w.channels, kChunk) / kChunk;
  const auto read = [&](size_t d) {
    const kit::Window& window = shape.window;
    Axis axis{shape.x[d + 2],    window.output[d],    window.kernel[d],
              window.strides[d], window.dilations[d], window.pads_begin[d]};
    axis.pixels = axis.out + axis.PixelOf(axis.kernel - 1);
    return axis;
  };
  w.x = read(spatial - 1);
  if (spatial == 2) w.y = read(0);
  constexpr int64_t kMostPixels = int64_t{1} << 24, kSpare = 1 << 12;
  if (w.x.pixels > kMostPixels || w.y.pixels > kMostPixels) return std::nullopt;
  std::vector<int64_t> phase_of;
  for (int64_t ty = 0; ty < w.y.kernel; ++ty) {
    for (int64_t tx = 0; tx < w.x.kernel; ++tx) {
      const Phase wanted{w.y.PhaseOf(ty), w.x.PhaseOf(tx)};
      const auto found = std::find_if(w.phases.begin(), w.phases.end(),
                                      [&](const Phase& p) { return p.y == wanted.y && p.x == wanted.x; });
      phase_of.push_back(found - w.phases.begin());
      if (found == w.phases.end()) w.phases.push_back(wanted);
    }
  }
  const auto phases = static_cast<int64_t>(w.phases.size());
  if (w.y.pixels * w.x.pixels > 4 * (shape.in_positions() + shape.positions()) / phases + kSpare) return std::nullopt;
  for (int64_t chunk = 0; chunk < w.chunks; ++chunk) {
    for (int64_t ty = 0; ty < w.y.kernel; ++ty) {
      for (int64_t tx = 0; tx < w.x.kernel; ++tx) {
        const int64_t phase = phase_of[static_cast<size_t>(ty * w.x.kernel + tx)];
        const int64_t pixel = w.y.PixelOf(ty) * w.x.pixels + w.x.PixelOf(tx);
        w.offsets.push_back((chunk * phases + phase) * w.plane() + pixel * simd::kSplitPixel);
      }
    }
  }
  return w;
}

const uint16_t* SplitImages(OpContext& context, const SplitWindow& w, const float* x) {
  const auto bytes = static_cast<uint64_t>(w.images * w.numbers()) * sizeof(uint16_t);
  auto* const numbers = static_cast<uint16_t*>(context.Scratch(bytes));
  if (WarmUpScope::IsActive()) return numbers;
  constexpr int64_t kShare = 1 << 14;
  const auto phases = static_cast<int64_t>(w.phases.size());
  const int64_t cost = std::max<int64_t>(1, w.x.pixels * w.channels);
  std::atomic<bool> finite = true;
  context.ParallelFor(
      w.images * phases * w.y.pixels, std::max<int64_t>(1, kShare / cost), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t line = i % w.y.pixels, phase = i / w.y.pixels % phases;
          const int64_t image = i / w.y.pixels / phases;
          uint16_t* const to =
              numbers + image * w.numbers() + phase * w.plane() + line * w.x.pixels * simd::kSplitPixel;
          if (!SplitLine(w, w.phases[static_cast<size_t>(phase)], line, x + image * w.y.in * w.x.in * w.channels, to))
            finite.store(false, std::memory_order_relaxed);
        }
      });
  return finite.load(std::memory_order_relaxed) ? numbers : nullptr;
}

void ConvolveSplit(OpContext& context, const SplitWindow& w, const SplitConvolution& o) {
  // A task has some columns of a block of rows. All threads get equal numbers of blocks.
  constexpr int64_t kTwoTiles = 2 * simd::kSplitTileRows, kMostRows = 512, kShareWork = int64_t{1} << 19;
  const int64_t threads = std::max<int64_t>(context.thread_count(), 1);
  const int64_t depth = static_cast<int64_t>(w.offsets.size()) * kChunk;
  const int64_t panels = RoundUp(w.filters, simd::kSplitPanel) / simd::kSplitPanel;
  int64_t blocks = (w.rows() + kMostRows - 1) / kMostRows;
  if (blocks > 1) blocks = RoundUp(blocks, threads);
  const int64_t block = RoundUp((w.rows() + blocks - 1) / blocks, kTwoTiles);
  const int64_t all = w.images * blocks;
  const int64_t splits = all >= threads ? 1 : std::min(panels, (2 * threads + all - 1) / all);
  const int64_t panels_per_split = (panels + splits - 1) / splits;
  const int64_t work = w.images * w.rows() * w.filters * depth;
  const BufferedItems items(context, all * splits, work / kShareWork, simd::SplitScratchBytes(block));
  if (WarmUpScope::IsActive()) return;

  const bool relu = o.activation && o.activation.op == kit::fuse::ElementwiseOp::kRelu;
  const auto run = [&](int64_t item, char* buffer) {
    const int64_t at = item / splits, first_panel = item % splits * panels_per_split;
    const int64_t image = at / blocks, row = at % blocks * block;
    if (first_panel >= panels || row >= w.rows()) return;
    const int64_t column = first_panel * simd::kSplitPanel;
    simd::SplitProduct p;
    p.tiles = o.numbers + image * w.numbers() + row * simd::kSplitPixel;
    p.offsets = w.offsets.data();
    p.rows = std::min(block, w.rows() - row);
    p.columns = std::min(panels_per_split * simd::kSplitPanel, w.filters - column);
    p.depth = depth;
    p.line = w.x.pixels;
    p.used = w.x.out;
    p.first = row % w.x.pixels;
    const int64_t begin = (image * w.y.out * w.x.out + w.results_before(row)) * w.filters + column;
    p.bias = o.bias == nullptr ? nullptr : o.bias + column;
    p.sum = o.sum == nullptr ? nullptr : o.sum + begin;
    p.relu = relu;
    p.y = o.y + begin;
    p.y_stride = w.filters;
    p.scratch = buffer;
    RunSplitPanels(p, o.weights, column);
    if (!o.activation || relu) return;
    // The results are still in the cache: all filters of some pixels, or some filters of each.
    const int64_t results = w.results_before(row + p.rows) - w.results_before(row);
    if (p.columns == w.filters) return ApplyActivation(o.activation, p.y, results * w.filters);
    for (int64_t r = 0; r < results; ++r) ApplyActivation(o.activation, p.y + r * w.filters, p.columns);
  };
  items.Run(run);
}

}  // namespace epiphyte::cpu
