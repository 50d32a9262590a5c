#include "plugins/cpu/onednn/bfloat16_panels.h"

#include <algorithm>

#include "epiphyte/kit/shape/round_up.hpp"
#include "plugins/cpu/onednn/buffered_items.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/simd/gemm/bfloat16_product.h"

namespace epiphyte::cpu {
namespace {

using kit::RoundUp;

void RoundLeft(OpContext& context, const SplitOperands& o, uint16_t* tiles) {
  constexpr int64_t kShare = 1 << 14, kRows = simd::kBfloat16TileRows;
  context.ParallelFor((o.rows + kRows - 1) / kRows, std::max<int64_t>(1, kShare / (o.k * kRows)),
                      [&](int64_t begin, int64_t end) {
                        const int64_t row = begin * kRows, count = std::min(end * kRows, o.rows) - row;
                        simd::RoundToTiles(o.a + row * o.k, o.k, count, o.k, tiles + simd::Bfloat16RowBegin(row, o.k));
                      });
}

}  // namespace

bool HasBfloat16Panels(const PackedWeights& packed) {
  if (!packed.for_bfloat16() || !HasSplitProducts()) return false;
  constexpr int64_t kRows = simd::kBfloat16TileColumns, kColumns = simd::kBfloat16Panel;
  const BlockedDesc d = Describe(packed.desc);
  return d.blocked && !d.extra && d.dims.size() == 2 && d.block_sizes == dnnl::memory::dims{kRows / 2, kColumns, 2} &&
         d.block_dims == dnnl::memory::dims{0, 1, 0} && d.padded[0] == simd::Bfloat16Depth(d.dims[0]) &&
         d.strides[0] == kRows * kColumns && d.strides[1] == d.padded[0] * kColumns;
}

void MultiplyBfloat16(OpContext& context, const SplitOperands& o) {
  if (o.rows == 0 || o.n == 0) return;
  const auto numbers = static_cast<uint64_t>(simd::Bfloat16TileNumbers(o.rows, o.k));
  auto* const tiles = static_cast<uint16_t*>(context.Scratch(numbers * sizeof(uint16_t)));
  constexpr int64_t kTwoTiles = 2 * simd::kBfloat16TileRows, kShareWork = int64_t{1} << 20;
  const int64_t threads = std::max<int64_t>(context.thread_count(), 1);
  const int64_t depth = simd::Bfloat16Depth(o.k);
  const int64_t panels = RoundUp(o.n, simd::kBfloat16Panel) / simd::kBfloat16Panel;
  // A block of rows stays in the L2 cache, beside panels. When each thread has its own blocks, it reads no rows that
  // another one has written, but all weights. With few rows, reading the weights would take longest.
  constexpr int64_t kBlockBytes = 1 << 20, kFewestRows = 128, kMostRows = 512;
  const int64_t most = std::clamp(kBlockBytes / (depth * 2) / kTwoTiles * kTwoTiles, kFewestRows, kMostRows);
  int64_t blocks = (o.rows + most - 1) / most;
  if (o.rows >= threads * kFewestRows) blocks = RoundUp(blocks, threads);
  const int64_t block = RoundUp((o.rows + blocks - 1) / blocks, kTwoTiles);
  blocks = (o.rows + block - 1) / block;
  // A task has some columns of a block. It starts with weights that are not in a cache yet.
  const int64_t splits = std::min(panels, (threads + blocks - 1) / blocks);
  const int64_t panels_per_split = (panels + splits - 1) / splits;
  const BufferedItems items(context, blocks * splits, o.rows * o.n * o.k / kShareWork,
                            simd::Bfloat16ScratchBytes(block));
  if (WarmUpScope::IsActive()) return;
  if (splits > 1) RoundLeft(context, o, tiles);

  // Number of columns per step, such that the results are still in the L2 cache for the activation.
  constexpr int64_t kCachedFloats = 64 << 10;
  const int64_t group = o.activation ? std::max<int64_t>(1, kCachedFloats / (block * simd::kBfloat16Panel)) : panels;
  const auto run = [&](int64_t item, char* buffer) {
    const int64_t row = item / splits * block, begin = item % splits * panels_per_split;
    const int64_t end = std::min(begin + panels_per_split, panels), rows = std::min(block, o.rows - row);
    uint16_t* const left = tiles + simd::Bfloat16RowBegin(row, o.k);
    if (splits == 1) simd::RoundToTiles(o.a + row * o.k, o.k, rows, o.k, left);
    for (int64_t panel = begin; panel < end; panel += group) {
      const int64_t count = std::min(group, end - panel), column = panel * simd::kBfloat16Panel;
      const int64_t at = row * o.n + column;
      simd::Bfloat16Product p;
      p.tiles = left;
      p.rows = rows;
      p.columns = std::min(count * simd::kBfloat16Panel, o.n - column);
      p.depth = depth;
      p.more = panel + count < end;
      p.bias = o.bias == nullptr ? nullptr : o.bias + column;
      p.sum = o.sum == nullptr ? nullptr : o.sum + at;
      p.y = o.y + at;
      p.y_stride = o.n;
      p.scratch = buffer;
      simd::RunBfloat16Product(p, static_cast<const kit::BFloat16*>(o.weights.data) + column * depth);
      if (!o.activation) continue;
      for (int64_t r = 0; r < p.rows; ++r) ApplyActivation(o.activation, p.y + r * o.n, p.columns);
    }
  };
  items.Run(run);
}

}  // namespace epiphyte::cpu
