#include "plugins/cpu/ops/nn/bfloat16_attention.h"

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/simd/gemm/bfloat16_product.h"

namespace epiphyte::cpu {

Bfloat16Attention::Bfloat16Attention(int64_t rows, int64_t keys, int64_t depth, int64_t width)
    : keys_(keys), depth_(depth), width_(width) {
  const auto aligned = [](uint64_t bytes) { return (bytes + kit::kHeapAlignment - 1) & ~(kit::kHeapAlignment - 1); };
  const auto numbers = [&](int64_t count) { return aligned(static_cast<uint64_t>(count) * sizeof(uint16_t)); };
  const uint64_t sizes[] = {
      numbers(simd::Bfloat16PanelNumbers(depth, keys)), numbers(simd::Bfloat16PanelNumbers(keys, width)),
      numbers(simd::Bfloat16TileNumbers(rows, std::max(depth, keys))),
      // Memory for transposing either the keys or the values.
      numbers(std::max(simd::Bfloat16TileNumbers(keys, depth), simd::Bfloat16TileNumbers(width, keys))),
      aligned(simd::Bfloat16ScratchBytes(rows))};
  uint64_t total = 0;
  for (const uint64_t size : sizes) total += size;
  memory_ = {kit::AllocateHeap(total), kit::FreeHeap};
  // Padding beyond the rows and columns takes part in the multiplication, so it must be zero.
  std::memset(memory_.get(), 0, total);
  char* at = static_cast<char*>(memory_.get());
  const auto next = [&at](uint64_t size) {
    char* const begin = at;
    at += size;
    return begin;
  };
  key_panels_ = reinterpret_cast<kit::BFloat16*>(next(sizes[0]));
  value_panels_ = reinterpret_cast<kit::BFloat16*>(next(sizes[1]));
  tiles_ = reinterpret_cast<uint16_t*>(next(sizes[2]));
  turned_ = reinterpret_cast<uint16_t*>(next(sizes[3]));
  scratch_ = next(sizes[4]);
}

bool Bfloat16Attention::TakeKeys(const float* k, int64_t row, int64_t column) {
  return Take(k, row, column, depth_, keys_, key_panels_);
}
bool Bfloat16Attention::TakeValues(const float* v, int64_t row, int64_t column) {
  return Take(v, row, column, keys_, width_, value_panels_);
}

bool Bfloat16Attention::Take(const float* from, int64_t row, int64_t column, int64_t k, int64_t n,
                             kit::BFloat16* panels) {
  if (column == 1) {
    simd::RoundToPanels(from, row, k, n, panels);
    return true;
  }
  if (row != 1) return false;
  // Rounds columns to tiles as if they were rows, then transposes the pairs of numbers in each tile.
  constexpr int64_t kTile = simd::kBfloat16TileRows, kPanel = simd::kBfloat16Panel;
  static_assert(simd::kBfloat16TileColumns == 2 * kTile);
  simd::RoundToTiles(from, column, n, k, turned_);
  const int64_t depth = simd::Bfloat16Depth(k);
  const auto* tile = reinterpret_cast<const float*>(turned_);
  auto* const pairs = reinterpret_cast<float*>(panels);
  for (int64_t c = 0; c < n; c += kTile)
    for (int64_t r = 0; r < depth / 2; r += kTile, tile += kTile * kTile)
      strided::TransposeTile(tile, kTile, pairs + c / kPanel * kPanel * (depth / 2) + r * kPanel + c % kPanel, kPanel,
                             kTile, kTile);
  return true;
}

void Bfloat16Attention::Score(const float* q, int64_t q_row, int64_t rows, float* scores, int64_t scores_row) {
  Multiply(q, q_row, rows, depth_, keys_, key_panels_, scores, scores_row);
}
void Bfloat16Attention::Weigh(const float* scores, int64_t scores_row, int64_t rows, float* y, int64_t y_row) {
  Multiply(scores, scores_row, rows, keys_, width_, value_panels_, y, y_row);
}

void Bfloat16Attention::Multiply(const float* a, int64_t a_row, int64_t rows, int64_t k, int64_t n,
                                 const kit::BFloat16* panels, float* y, int64_t y_row) {
  simd::RoundToTiles(a, a_row, rows, k, tiles_);
  simd::Bfloat16Product product;
  product.tiles = tiles_;
  product.rows = rows;
  product.columns = n;
  product.depth = simd::Bfloat16Depth(k);
  product.y = y;
  product.y_stride = y_row;
  product.scratch = scratch_;
  simd::RunBfloat16Product(product, panels);
}

}  // namespace epiphyte::cpu
