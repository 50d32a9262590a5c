// GEMM with weights of 2, 4 or 8 bits that have a scale, and optionally a zero point, for each block of rows. The
// weights stay packed, because reading them dominates the time of a GEMM with a single row.
//
// W [rows, columns] is stored in panels of kBlockPanel columns. A panel holds 32-bit words, [rows * bits / 32,
// kBlockPanel]. A word holds 32 / bits rows of its column: row 4 g + b is in the bits from 8 b + bits * g on. So a
// shift and a mask yield four rows as the bytes of an int8 dot product. Rows are padded to whole blocks; the left side
// must have zeros beyond the end of W.
//
//     PackBlockPanel(columns, 4, blocks * block, words);              // from bytes with the first number lowest
//     RowsTimesBlockPanel(weights, panel, {a, stride, rows, sums}, y);  // y[rows, kBlockPanel] = a W
//
// An element of W is (number - zero) * scale. The zero point is subtracted from the sum of a block instead.
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

inline constexpr int64_t kBlockPanel = 64;

constexpr int64_t BlockPanels(int64_t columns) { return (columns + kBlockPanel - 1) / kBlockPanel; }
constexpr int64_t BlockPanelWords(int bits, int64_t rows) { return rows * bits / 32 * kBlockPanel; }

struct BlockQuantized {
  int bits = 4;
  int64_t blocks = 0, block = 0;    // rows of a block: a multiple of 16
  const uint32_t* words = nullptr;  // all panels
  // Scales of each panel, [blocks, kBlockPanel]; one of the two pointers is set.
  const float* scales = nullptr;
  const kit::Float16* half_scales = nullptr;
  // Zero points with the same shape; at most one of the two pointers is set. With neither, all zero points are
  // 2^(bits - 1).
  const uint8_t* zeros = nullptr;
  const float* real_zeros = nullptr;

  int64_t rows() const { return blocks * block; }
};

// `columns` has, for each column of a panel, `rows` numbers of `bits` bits, the first in the lowest bits. A pointer is
// null for a column that doesn't exist.
void PackBlockPanel(const uint8_t* const* columns, int bits, int64_t rows, uint32_t* words);

struct BlockLeft {
  const float* a = nullptr;
  int64_t stride = 0;  // between rows; at least weights.rows()
  int64_t rows = 0;
  const float* sums = nullptr;  // [rows, blocks]: sum of each block, as SumBlocks computes it
};
void SumBlocks(const float* row, int64_t blocks, int64_t block, float* sums);
void RowsTimesBlockPanel(const BlockQuantized& weights, int64_t panel, const BlockLeft& left, float* y);

// The left side as signed bytes; their products are summed as integers within a block. An element has one or three
// digits, the highest first; each is worth 256 of the next. One digit is fast. Three digits are as exact as floats and,
// with VNNI, faster.
struct ByteBlockLeft {
  const int8_t* a = nullptr;  // for each row [digits, weights.rows()]
  int64_t stride = 0;         // bytes between rows
  int64_t rows = 0;
  const float* scales = nullptr;  // [rows, blocks]: scale of the lowest digit
  const float* sums = nullptr;    // [rows, blocks]: sum of each block
  int digits = 1;                 // 1 or 3
};
// Quantises one row. The highest digit of a block's largest element is 127 or -127. `sums` receives, for each block,
// the sum of the quantised numbers times the scale.
void QuantizeBlocks(const float* row, int64_t blocks, int64_t block, int digits, int8_t* numbers, float* scales,
                    float* sums);
void RowsTimesBlockPanel(const BlockQuantized& weights, int64_t panel, const ByteBlockLeft& left, float* y);

// Converts rows [first, first + count) of W to floats, [count, kBlockPanel], for GEMMs with many rows on the left.
// `first` and `count` are multiples of 16.
void WidenBlockPanel(const BlockQuantized& weights, int64_t panel, int64_t first, int64_t count, float* to);

}  // namespace epiphyte::cpu::simd
