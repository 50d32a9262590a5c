// Float GEMM by AMX, which multiplies bfloat16. Each operand is split into the sum of two bfloat16 numbers. The
// remainder is at most 2^-17 of a float, and zero for a float16. Three of the four partial products are computed and
// summed in float. The fourth, of the two lower parts, is at most 2^-17 of the product and is left out. The sums are
// far closer to those of floats than float16 is, and several times as fast.
//
// W [k, n] is stored in panels of kSplitPanel columns, of float16 or bfloat16. A panel holds, for each two rows of W,
// the two numbers of each of its columns. Rows and columns beyond W are zeros; the number of rows is SplitDepth(k).
//
// Splitting weights takes as long as multiplying some 50 rows by them. Weights that SplitWeights has split in advance
// avoid that and take as much memory as floats. They hold, for each kSplitPartsBlock numbers, the upper parts, then the
// lower parts.
//
//     SplitRows(a, a_stride, rows, k, tiles);        // SplitTileNumbers(rows, k) of them, aligned to 64 bytes
//     SplitProduct product;
//     …
//     RunSplitProduct(product, panels);              // y[rows, n] = a W + bias
//
// Only for finite numbers, and only for CPUs with AMX (UsesAmxBfloat16, amx.h), which have instructions for bfloat16 as
// well.
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

inline constexpr int64_t kSplitPanel = 32;

// k rounded up to whole tiles.
constexpr int64_t SplitDepth(int64_t k) { return (k + 31) / 32 * 32; }

// The left side: for each 16 rows and 32 columns, a tile of the upper parts, then one of the lower parts. Rows beyond
// the last one are not written.
inline constexpr int64_t kSplitTileRows = 16, kSplitTileColumns = 32;
inline constexpr int64_t kSplitTile = kSplitTileRows * kSplitTileColumns;  // numbers
constexpr int64_t SplitTileNumbers(int64_t rows, int64_t k) {
  return (rows + kSplitTileRows - 1) / kSplitTileRows * kSplitTileRows * SplitDepth(k) * 2;
}
// Offset in the tiles of row `row`. Each next kSplitTileColumns numbers of the row's upper part are 2 * kSplitTile
// further on. The lower part is kSplitTile after the upper part.
constexpr int64_t SplitRowBegin(int64_t row, int64_t k) {
  return row / kSplitTileRows * kSplitTileRows * SplitDepth(k) * 2 + row % kSplitTileRows * kSplitTileColumns;
}
// Returns false when one of the floats isn't finite or exceeds the range of bfloat16.
bool SplitRows(const float* a, int64_t a_stride, int64_t rows, int64_t k, uint16_t* tiles);
// Planar layout of a left side, for rows that are windows of an image with channels last. Each plane has
// kSplitTileColumns channels. Each pixel of a plane has kSplitPixel numbers: the upper parts, then the lower parts.
// Pixel i of channel c goes to to[c / kSplitTileColumns * plane + i * kSplitPixel]. `stride` is the distance between
// pixels of x.
inline constexpr int64_t kSplitPixel = 2 * kSplitTileColumns;
bool SplitPixels(const float* x, int64_t stride, int64_t pixels, int64_t channels, uint16_t* to, int64_t plane);

inline constexpr int64_t kSplitPartsBlock = kSplitTileColumns * kSplitPanel;
// `n` counts floats and is a multiple of kSplitPartsBlock. JoinWeights restores each float to within 2^-17.
void SplitWeights(const float* panels, int64_t n, uint16_t* parts);
void JoinWeights(const uint16_t* parts, int64_t n, float* panels);

struct SplitProduct {
  const uint16_t* tiles = nullptr;
  int64_t rows = 0, columns = 0, depth = 0;  // depth: SplitDepth(k)
  // Planar layout only: offset from `tiles` of row 0 of each block of kSplitTileColumns weight rows. Each next row is
  // one pixel further. Null for the tiled layout.
  const int64_t* offsets = nullptr;
  // Rows come in lines of `line` rows. The first `used` rows of each line are rows of the result, which are
  // consecutive. Row 0 is number `first` of its line. With `line` 0 every row is a row of the result.
  int64_t line = 0, used = 0, first = 0;
  const float* bias = nullptr;  // by column; null: none
  const float* sum = nullptr;   // added to the result, with the layout of y; may be y, or null
  bool relu = false;            // numbers below 0 become 0
  float* y = nullptr;
  int64_t y_stride = 0;     // between rows
  void* scratch = nullptr;  // SplitScratchBytes(rows) bytes, aligned to 64 bytes
};
uint64_t SplitScratchBytes(int64_t rows);
// `panels` holds the panels of product.columns.
void RunSplitProduct(const SplitProduct& product, const kit::Float16* panels);
void RunSplitProduct(const SplitProduct& product, const kit::BFloat16* panels);
void RunSplitProduct(const SplitProduct& product, const uint16_t* parts);  // aligned to 64 bytes

}  // namespace epiphyte::cpu::simd
