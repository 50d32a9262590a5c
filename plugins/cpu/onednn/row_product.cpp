#include "plugins/cpu/onednn/row_product.h"

#include <algorithm>

#include "plugins/cpu/kernel/blocked_product.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/rehearsal.h"
#include "plugins/cpu/simd/panel_product.h"
#include "plugins/cpu/simd/row_times_panel.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kMostWidth = 64;

}  // namespace

std::optional<Panels> PanelsOf(const MemoryDesc& desc) {
  const BlockedDesc d = Describe(desc);
  if (!d.blocked || d.extra || TypeOf(desc) != dnnl::memory::data_type::f32 || d.dims.size() != 2 ||
      d.block_sizes.size() != 2 || d.block_dims[0] != 0 || d.block_dims[1] != 1)
    return std::nullopt;
  const int64_t rows = d.block_sizes[0], width = d.block_sizes[1];
  // Blocks of rows must follow each other, so that a panel is one piece.
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
                     const Activation& activation) {
  if (Rehearsal::On()) return;
  // The rows of A that are multiplied by all panels stay in the second-level cache; of few panels, threads share rows.
  constexpr int64_t kBlockFloats = int64_t{1} << 17, kFewestRows = 128, kShareRows = 24;
  constexpr int64_t kShareWork = 1 << 18;
  // Panels whose results get their activation while a cache has them.
  constexpr int64_t kGroupFloats = 1 << 16;
  const int64_t count = (o.n + panels.width - 1) / panels.width;
  const int64_t shares = (2 * int64_t{context.thread_count()} + count - 1) / count;
  const int64_t block = std::min(std::max(kFewestRows, kBlockFloats / std::max<int64_t>(1, o.k)),
                                 std::max(kShareRows, (rows + shares - 1) / shares));
  const int64_t blocks = (rows + block - 1) / block;
  const int64_t most_panels = activation ? std::max<int64_t>(1, kGroupFloats / (block * panels.width)) : count;
  const auto* const weights = static_cast<const float*>(o.b);
  const int64_t work = std::min(block, rows) * panels.width * std::max<int64_t>(1, o.k);
  context.ParallelFor(blocks * count, std::max<int64_t>(1, kShareWork / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t row = i / count * block, panel = i % count;
      const int64_t group = std::min({most_panels, count - panel, end - i});
      const int64_t column = panel * panels.width;
      simd::PanelProduct p;
      p.rows = std::min(block, rows - row);
      p.n = std::min(group * panels.width, o.n - column);
      p.k = o.k;
      p.a = o.a + row * o.k;
      p.a_stride = o.k;
      p.panels = weights + panel * panels.stride;
      p.width = panels.width;
      p.panel_stride = panels.stride;
      p.bias = o.bias == nullptr ? nullptr : o.bias + column;
      p.sum = o.residual == nullptr ? nullptr : o.residual + row * o.n + column;
      p.y = o.y + row * o.n + column;
      p.y_stride = o.n;
      p.fetched_end = weights + count * panels.stride;
      simd::RunPanelProduct(p);
      if (activation)
        for (int64_t r = 0; r < p.rows; ++r) ApplyActivation(activation, p.y + r * o.n, p.n);
      i += group;
    }
  });
}

void RowTimesMatrix(OpContext& context, const RowOperands& o, bool transposed, bool one_bias,
                    const Activation& activation) {
  // The residual may lie where the result goes.
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
