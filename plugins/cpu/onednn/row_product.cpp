#include "plugins/cpu/onednn/row_product.h"

#include <algorithm>
#include <cstring>

#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/simd/simd.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kMostWidth = 64;
// A panel is read at several places in turn, some rows at each: the CPU fetches ahead at all of them, and the end of a
// page at one doesn't stop the others.
constexpr int64_t kStreams = 4;
constexpr int64_t kRun = 4;

typedef float Vector __attribute__((vector_size(32)));
constexpr int64_t kLanes = 8;

template <int kVectors>
EPIPHYTE_INLINE void AddRows(const float* a, const float* rows, int64_t count, Vector* sums) {
  for (int64_t i = 0; i < count; ++i, rows += kVectors * kLanes) {
    Vector weights[kVectors];
    std::memcpy(weights, rows, sizeof(weights));
    for (int v = 0; v < kVectors; ++v) sums[v] += weights[v] * a[i];
  }
}

template <int kVectors>
EPIPHYTE_INLINE void MultiplyPanel(const float* a, const float* panel, int64_t k, float* y) {
  constexpr int64_t kWidth = kVectors * kLanes;
  Vector sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = Vector{};
  const int64_t part = k / (kStreams * kRun) * kRun;
  for (int64_t i = 0; i < part; i += kRun) {
    for (int64_t stream = 0; stream < kStreams; ++stream) {
      const int64_t row = stream * part + i;
      AddRows<kVectors>(a + row, panel + row * kWidth, kRun, sums);
    }
  }
  const int64_t rest = part * kStreams;
  AddRows<kVectors>(a + rest, panel + rest * kWidth, k - rest, sums);
  std::memcpy(y, sums, sizeof(sums));
}

EPIPHYTE_MULTIVERSION void MultiplyOnePanel(const float* a, const float* panel, int64_t width, int64_t k, float* y) {
  switch (width) {
    case 64: return MultiplyPanel<8>(a, panel, k, y);
    case 48: return MultiplyPanel<6>(a, panel, k, y);
    case 32: return MultiplyPanel<4>(a, panel, k, y);
    default: return MultiplyPanel<2>(a, panel, k, y);
  }
}

}  // namespace

std::optional<Panels> PanelsOf(const MemoryDesc& desc) {
  const BlockedDesc d = Describe(desc);
  if (!d.blocked || d.extra || TypeOf(desc) != dnnl::memory::data_type::f32 || d.dims.size() != 2 ||
      d.block_sizes.size() != 2 || d.block_dims[0] != 0 || d.block_dims[1] != 1)
    return std::nullopt;
  const int64_t rows = d.block_sizes[0], width = d.block_sizes[1];
  // Blocks of rows must follow each other, so that a panel is one piece.
  if ((width != 64 && width != 48 && width != 32 && width != 16) || d.strides[0] != rows * width ||
      d.strides[1] < d.padded[0] * width)
    return std::nullopt;
  return Panels{width, d.strides[1]};
}

void RowTimesPanels(OpContext& context, const Panels& panels, const RowOperands& o, const Activation& activation) {
  const int64_t count = (o.n + panels.width - 1) / panels.width;
  constexpr int64_t kShareFloats = 32 << 10;
  const int64_t grain = std::max<int64_t>(1, kShareFloats / std::max<int64_t>(1, panels.width * o.k));
  context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i * panels.width;
      const int64_t columns = std::min(panels.width, o.n - column);
      alignas(64) float sums[kMostWidth];
      MultiplyOnePanel(o.a, o.b + i * panels.stride, panels.width, o.k, sums);
      if (o.bias != nullptr)
        for (int64_t c = 0; c < columns; ++c) sums[c] += o.bias[column + c];
      if (o.residual != nullptr)
        for (int64_t c = 0; c < columns; ++c) sums[c] += o.residual[column + c];
      if (activation) ApplyActivation(activation, sums, columns);
      std::copy_n(sums, columns, o.y + column);
    }
  });
}

}  // namespace epiphyte::cpu
