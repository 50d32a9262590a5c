#include "plugins/cpu/onednn/split.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "epiphyte/kit/shape/round_up.hpp"
#include "plugins/cpu/onednn/buffered_items.h"
#include "plugins/cpu/onednn/split_panels.h"
#include "plugins/cpu/onednn/split_window.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/simd/gemm/amx.h"

namespace epiphyte::cpu {
namespace {

using kit::RoundUp;

// Splits each row of the left operand into both parts; false when a number is not finite. A warm-up has no numbers yet.
bool SplitLeft(OpContext& context, const SplitOperands& o, uint16_t* tiles) {
  constexpr int64_t kShare = 1 << 14, kRows = simd::kSplitTileRows;
  const int64_t blocks = WarmUpScope::IsActive() ? 0 : (o.rows + kRows - 1) / kRows;
  std::atomic<bool> finite = true;
  context.ParallelFor(blocks, std::max<int64_t>(1, kShare / (o.k * kRows)), [&](int64_t begin, int64_t end) {
    const int64_t row = begin * kRows, count = std::min(end * kRows, o.rows) - row;
    if (!simd::SplitRows(o.a + row * o.k, o.k, count, o.k, tiles + simd::SplitRowBegin(row, o.k)))
      finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

// True when `count` floats from `data` on (at any address) are all sums of two finite parts.
bool HaveParts(const char* data, int64_t count) {
  constexpr float kBeyond = 0x1p111f;  // limit at which splitting overflows
  constexpr int64_t kBlock = 1024;
  float block[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    std::memcpy(block, data + static_cast<size_t>(at) * sizeof(float), static_cast<size_t>(n) * sizeof(float));
    bool all = true;
    for (int64_t i = 0; i < n; ++i) all &= std::fabs(block[i]) < kBeyond;
    if (!all) return false;
  }
  return true;
}

bool HasSplitLayout(const MemoryDesc& desc) {
  const dnnl::memory::dims dims = DimsOf(desc);
  if (TypeOf(desc) != dnnl::memory::data_type::f32 || dims.size() < 2) return false;
  const std::optional<MemoryDesc> wanted = dims.size() == 2 ? SplitMatrixDesc(dims[0], dims[1]) : SplitWindowDesc(dims);
  return wanted && *wanted == desc;
}

}  // namespace

bool HasSplitProducts() { return HasBfloat16Products() && simd::UsesAmxBfloat16(); }

std::optional<MemoryDesc> SplitMatrixDesc(int64_t k, int64_t n) {
  constexpr int64_t kRows = simd::kSplitTileColumns, kColumns = simd::kSplitPanel;
  BlockedDesc d;
  d.blocked = true;
  d.dims = {k, n};
  d.padded = {RoundUp(k, kRows), RoundUp(n, kColumns)};
  d.strides = {kRows * kColumns, d.padded[0] * kColumns};
  d.block_sizes = {kRows / 2, kColumns, 2};
  d.block_dims = {0, 1, 0};
  return MakeDesc(d, EP_TYPE_FLOAT);
}

bool IsSplit(const PackedWeights& packed) { return packed && !packed.has_floats() && HasSplitLayout(packed.desc); }

bool MaySplit(const KernelInit& init, size_t input, std::string_view key, std::span<const int64_t> dims) {
  // Smaller weights are fast in any form.
  constexpr int64_t kFewest = 1 << 11;
  const Tensor* constant = init.PeekConstant(input);
  if (constant == nullptr || constant->type != EP_TYPE_FLOAT || Dims(dims).Count() < kFewest || !HasSplitProducts())
    return false;
  if (constant->data != nullptr) return init.AllowsSplitFloats() && HaveParts(constant->as<char>(), constant->Count());
  const std::optional<MemoryDesc> stored = StoredLayout(init, key, dims);
  return stored && HasSplitLayout(*stored);
}

bool MultiplySplit(OpContext& context, const SplitOperands& o) {
  if (o.rows == 0 || o.n == 0) return true;
  const auto numbers = static_cast<uint64_t>(simd::SplitTileNumbers(o.rows, o.k));
  auto* const tiles = static_cast<uint16_t*>(context.Scratch(numbers * sizeof(uint16_t)));
  if (!SplitLeft(context, o, tiles)) return false;

  constexpr int64_t kTwoTiles = 2 * simd::kSplitTileRows;
  constexpr int64_t kShareWork = int64_t{1} << 19;
  const int64_t threads = std::max<int64_t>(context.thread_count(), 1);
  const int64_t depth = simd::SplitDepth(o.k);
  const int64_t panels = RoundUp(o.n, simd::kSplitPanel) / simd::kSplitPanel;
  // Both parts of a block of rows stay in the L2 cache. With few rows, splitting the weights would take longest.
  constexpr int64_t kBlockBytes = 1280 << 10, kFewestRows = 64, kMostRows = 512, kFewRows = 256;
  const int64_t block = o.rows <= kFewRows
                            ? RoundUp(o.rows, kTwoTiles)
                            : std::clamp(kBlockBytes / (depth * 4) / kTwoTiles * kTwoTiles, kFewestRows, kMostRows);
  // A task has some columns of a block.
  const int64_t blocks = (o.rows + block - 1) / block;
  const int64_t splits = blocks >= 2 * threads ? 1 : std::min(panels, (2 * threads + blocks - 1) / blocks);
  const int64_t panels_per_split = (panels + splits - 1) / splits;
  const BufferedItems items(context, blocks * splits, o.rows * o.n * o.k / kShareWork, simd::SplitScratchBytes(block));
  if (WarmUpScope::IsActive()) return true;

  const auto run = [&](int64_t item, char* buffer) {
    const int64_t row = item / splits * block, first = item % splits * panels_per_split;
    if (first >= panels) return;
    const int64_t column = first * simd::kSplitPanel;
    const int64_t begin = row * o.n + column;
    simd::SplitProduct p;
    p.tiles = tiles + simd::SplitRowBegin(row, o.k);
    p.rows = std::min(block, o.rows - row);
    p.columns = std::min(panels_per_split * simd::kSplitPanel, o.n - column);
    p.depth = depth;
    p.bias = o.bias == nullptr ? nullptr : o.bias + column;
    p.sum = o.sum == nullptr ? nullptr : o.sum + begin;
    p.y = o.y + begin;
    p.y_stride = o.n;
    p.scratch = buffer;
    RunSplitPanels(p, o.weights, column);
    if (!o.activation) return;
    for (int64_t r = 0; r < p.rows; ++r) ApplyActivation(o.activation, p.y + r * o.n, p.columns);
  };
  items.Run(run);
  return true;
}

}  // namespace epiphyte::cpu
