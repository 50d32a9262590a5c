#include "plugins/cpu/onednn/row_product.h"

#include <algorithm>
#include <limits>

#include "plugins/cpu/kernel/blocked_product.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/simd/gemm/panel_product.h"
#include "plugins/cpu/simd/gemm/row_times_panel.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kMostWidth = 64;

// Number of rows per task in a GEMM with panels. The rows of A that all panels multiply stay in the L2 cache. Threads
// that can't divide few panels evenly divide the rows; then each thread reads the panels.
int64_t RowsOfShare(int64_t rows, int64_t k, int64_t panels, int64_t width, int64_t threads, bool large) {
  constexpr int64_t kCachedFloats = int64_t{1} << 17, kFewestCached = 128, kFewestRows = 24, kMostCuts = 8;
  const int64_t unit = width == 64 ? 6 : width == 48 ? 8 : 12;  // rows that are multiplied at a time
  const auto cut = [&](int64_t parts) { return ((rows + parts - 1) / parts + unit - 1) / unit * unit; };
  const int64_t most = std::max(kFewestCached, kCachedFloats / std::max<int64_t>(1, k));
  const int64_t fewest = (rows + most - 1) / most;
  const double enough = large ? 0.7 : 0.9;
  int64_t best = fewest;
  double best_use = 0;
  for (int64_t parts = fewest; parts < fewest + kMostCuts && (parts == fewest || cut(parts) >= kFewestRows); ++parts) {
    const int64_t shares = (rows + cut(parts) - 1) / cut(parts) * panels;
    // Used fraction of the threads' time until the last task ends.
    const double use = static_cast<double>(rows * panels) /
                       static_cast<double>((shares + threads - 1) / threads * threads * cut(parts));
    if (use <= best_use) continue;
    best = parts;
    best_use = use;
    if (use >= enough) break;
  }
  return cut(best);
}

}  // namespace

std::optional<Panels> PanelsOf(const MemoryDesc& desc) {
  const BlockedDesc d = Describe(desc);
  if (!d.blocked || d.extra || TypeOf(desc) != dnnl::memory::data_type::f32 || d.dims.size() != 2 ||
      d.block_sizes.size() != 2 || d.block_dims[0] != 0 || d.block_dims[1] != 1)
    return std::nullopt;
  const int64_t rows = d.block_sizes[0], width = d.block_sizes[1];
  // Blocks of rows must be adjacent, so that a panel is contiguous.
  if (!simd::IsPanelWidth(width) || d.strides[0] != rows * width || d.strides[1] < d.padded[0] * width)
    return std::nullopt;
  return Panels{width, d.strides[1]};
}

void RowTimesPanels(OpContext& context, const Panels& panels, const RowOperands& o, const Activation& activation) {
  const int64_t count = (o.n + panels.width - 1) / panels.width;
  constexpr int64_t kShareFloats = 32 << 10;
  const int64_t grain = std::max<int64_t>(1, kShareFloats / std::max<int64_t>(1, panels.width * o.k));
  Dispatch<float, Float16, BFloat16>(o.b_type, "a product with weights", [&]<typename T>() {
    const T* const b = static_cast<const T*>(o.b);
    context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i * panels.width;
        const int64_t columns = std::min(panels.width, o.n - column);
        alignas(64) float sums[kMostWidth];
        simd::RowTimesPanel(o.a, b + i * panels.stride, panels.width, o.k, sums);
        if (o.bias != nullptr)
          for (int64_t c = 0; c < columns; ++c) sums[c] += o.bias[column + c];
        if (o.residual != nullptr)
          for (int64_t c = 0; c < columns; ++c) sums[c] += o.residual[column + c];
        if (activation) ApplyActivation(activation, sums, columns);
        std::copy_n(sums, columns, o.y + column);
      }
    });
  });
}

void RowsTimesPanels(OpContext& context, const Panels& panels, const RowOperands& o, int64_t rows,
                     const Activation& activation, const WindowRows* windows) {
  if (WarmUpScope::IsActive()) return;
  constexpr int64_t kShareWork = 1 << 18, kLargeWeights = int64_t{1} << 18;
  // Panels per group; the activation is applied to a group while its results are in a cache.
  constexpr int64_t kGroupFloats = 1 << 16;
  const int64_t count = (o.n + panels.width - 1) / panels.width;
  const int64_t sums = std::max<int64_t>(1, o.k * (windows == nullptr ? 1 : windows->taps));
  const int64_t threads = rows * o.n * sums < 2 * kShareWork ? 1 : std::max<int64_t>(1, context.thread_count());
  const int64_t block = RowsOfShare(rows, o.k, count, panels.width, threads, o.n * sums > kLargeWeights);
  const int64_t blocks = (rows + block - 1) / block;
  using kit::fuse::ElementwiseOp;
  const bool relu = activation.op == ElementwiseOp::kRelu, bounded = relu || activation.op == ElementwiseOp::kClip;
  const bool activates = activation && !bounded;
  const int64_t most_panels = activates ? std::max<int64_t>(1, kGroupFloats / (block * panels.width)) : count;
  const auto* const weights = static_cast<const float*>(o.b);
  const int64_t work = std::min(block, rows) * panels.width * sums;
  context.ParallelFor(blocks * count, std::max<int64_t>(1, kShareWork / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t row = i / count * block, panel = i % count;
      const int64_t group = std::min({most_panels, count - panel, end - i});
      const int64_t column = panel * panels.width;
      simd::PanelProduct p;
      p.rows = std::min(block, rows - row);
      p.n = std::min(group * panels.width, o.n - column);
      p.k = o.k;
      if (windows == nullptr) {
        p.a = o.a + row * o.k;
        p.a_stride = o.k;
      } else {
        p.a = o.a;
        p.places = windows->places + row;
        p.places_stride = rows;
        p.zeros = windows->zeros;
        p.taps = windows->taps;
      }
      p.panels = weights + panel * panels.stride;
      p.width = panels.width;
      p.panel_stride = panels.stride;
      p.bias = o.bias == nullptr ? nullptr : o.bias + column;
      p.sum = o.residual == nullptr ? nullptr : o.residual + row * o.n + column;
      p.y = o.y + row * o.n + column;
      p.y_stride = o.n;
      p.fetched_end = weights + count * panels.stride;
      if (bounded) {
        p.bounded = true;
        p.low = relu ? 0 : activation.alpha;
        p.high = relu ? std::numeric_limits<float>::infinity() : activation.beta;
      }
      simd::RunPanelProduct(p);
      if (activates)
        for (int64_t r = 0; r < p.rows; ++r) ApplyActivation(activation, p.y + r * o.n, p.n);
      i += group;
    }
  });
}

void RowTimesMatrix(OpContext& context, const RowOperands& o, bool transposed, bool one_bias,
                    const Activation& activation) {
  // The residual may be in the memory of the result.
  float* const sums =
      o.residual == nullptr ? o.y : static_cast<float*>(context.Scratch(static_cast<uint64_t>(o.n) * sizeof(float)));
  MultiplyBlocked<float>(context, 1, [&](int64_t) {
    return BlockedProduct<float>{.a = o.a,
                                 .a_row = o.k,
                                 .b = static_cast<const float*>(o.b),
                                 .b_row = transposed ? 1 : o.n,
                                 .b_column = transposed ? o.k : 1,
                                 .y = sums,
                                 .y_row = o.n,
                                 .m = 1,
                                 .n = o.n,
                                 .k = o.k};
  });
  if (o.bias != nullptr)
    for (int64_t c = 0; c < o.n; ++c) sums[c] += o.bias[one_bias ? 0 : c];
  if (o.residual != nullptr)
    for (int64_t c = 0; c < o.n; ++c) o.y[c] = sums[c] + o.residual[c];
  if (activation) ApplyActivation(activation, o.y, o.n);
}

}  // namespace epiphyte::cpu
