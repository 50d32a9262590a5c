// Products of floats by AMX, which multiplies bfloat16: each operand is the sum of two of these, of which what is left
// is at most 2^-17 of a float, and nothing of a float16. Three of the four products are made, and added up in float;
// the fourth one, of the lower parts, is 2^-17 of the product at most. So sums are far closer to those of floats than
// float16 is, and several times as fast.
//
// W [k, n] is stored in panels of kSplitPanel columns, of float16 or bfloat16: a panel has, for each two rows of W, the
// two numbers of each of its columns. Rows and columns beyond W are zeros; the number of rows is SplitDepth(k). Taking
// numbers apart takes as long as multiplying some 50 rows with them, which parts of panels of floats save, in as much
// memory as floats: for each kSplitPartsBlock numbers the upper parts, then the lower ones.
//
//     SplitRows(a, a_stride, rows, k, tiles);        // SplitTileNumbers(rows, k) of them, aligned to 64 bytes
//     SplitProduct product;
//     …
//     RunSplitProduct(product, panels);              // y[rows, n] = a W + bias
//
// For finite numbers, and for CPUs with AMX only (UsesAmxBfloat16, amx.h), which have instructions for bfloat16 as
// well.
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

inline constexpr int64_t kSplitPanel = 32;

// What k becomes, so that tiles are whole.
constexpr int64_t SplitDepth(int64_t k) { return (k + 31) / 32 * 32; }

// The left side: for each 16 rows and each 32 columns a tile of the upper parts, then one of the lower ones. Rows
// beyond the last one are left as they are.
inline constexpr int64_t kSplitTileRows = 16, kSplitTileColumns = 32;
inline constexpr int64_t kSplitTile = kSplitTileRows * kSplitTileColumns;  // numbers
constexpr int64_t SplitTileNumbers(int64_t rows, int64_t k) {
  return (rows + kSplitTileRows - 1) / kSplitTileRows * kSplitTileRows * SplitDepth(k) * 2;
}
// Where in them row `row` begins: each kSplitTileColumns numbers of its upper part are 2 * kSplitTile further on, those
// of its lower part kSplitTile behind.
constexpr int64_t SplitRowBegin(int64_t row, int64_t k) {
  return row / kSplitTileRows * kSplitTileRows * SplitDepth(k) * 2 + row % kSplitTileRows * kSplitTileColumns;
}
// False when one of the floats isn't finite, or is beyond bfloat16.
bool SplitRows(const float* a, int64_t a_stride, int64_t rows, int64_t k, uint16_t* tiles);
// The other form of a left side, for rows that are windows of an image with channels last: planes of kSplitTileColumns
// channels each, of which each pixel has kSplitPixel numbers, those of the upper parts and then those of the lower
// ones. Pixel i of channel c goes to to[c / kSplitTileColumns * plane + i * kSplitPixel]; `stride`: between pixels.
inline constexpr int64_t kSplitPixel = 2 * kSplitTileColumns;
bool SplitPixels(const float* x, int64_t stride, int64_t pixels, int64_t channels, uint16_t* to, int64_t plane);

inline constexpr int64_t kSplitPartsBlock = kSplitTileColumns * kSplitPanel;
// `n`: floats, a multiple of kSplitPartsBlock. What is joined is within 2^-17 of the float.
void SplitWeights(const float* panels, int64_t n, uint16_t* parts);
void JoinWeights(const uint16_t* parts, int64_t n, float* panels);

struct SplitProduct {
  const uint16_t* tiles = nullptr;
  int64_t rows = 0, columns = 0, depth = 0;  // depth: SplitDepth(k)
  // Of planes: where, behind `tiles`, row 0 begins for each kSplitTileColumns rows of W; the next row is a pixel
  // further. Null: of tiles.
  const int64_t* offsets = nullptr;
  // Rows are lines of so many, of which the first `used` are rows of the result, one after another; row 0 is number
  // `first` of its line. 0: all are.
  int64_t line = 0, used = 0, first = 0;
  const float* bias = nullptr;  // by column; null: none
  const float* sum = nullptr;   // added to the result, as which it lies; may be y, or null
  bool relu = false;            // numbers below 0 become 0
  float* y = nullptr;
  int64_t y_stride = 0;     // between rows
  void* scratch = nullptr;  // SplitScratchBytes(rows) of them, aligned to 64 bytes
};
uint64_t SplitScratchBytes(int64_t rows);
// `panels`: of these columns.
void RunSplitProduct(const SplitProduct& product, const kit::Float16* panels);
void RunSplitProduct(const SplitProduct& product, const kit::BFloat16* panels);
void RunSplitProduct(const SplitProduct& product, const uint16_t* parts);  // aligned to 64 bytes

}  // namespace epiphyte::cpu::simd
