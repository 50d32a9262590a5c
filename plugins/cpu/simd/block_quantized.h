// Products with weights of 2, 4 or 8 bits that have a scale, and perhaps a zero point, for each block of rows: they
// stay as small as they are, for reading them is what a product with a single row takes its time for.
//
// W [rows, columns] is stored in panels of kBlockPanel columns. A panel has words of 32 bits, [rows * bits / 32,
// kBlockPanel]: a word has that many rows of its column, row 4 g + b in the bits from 8 b + bits * g on, so that four
// rows are the bytes of a product of bytes after a shift and a mask. Rows are whole blocks; the left side has zeros
// where W ends before.
//
//     PackBlockPanel(columns, 4, blocks * block, words);              // from bytes with the first number lowest
//     RowsTimesBlockPanel(weights, panel, {a, stride, rows, sums}, y);  // y[rows, kBlockPanel] = a W
//
// W's element is (number - zero) * scale; the zero point is taken off the sum of a block instead.
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
  // For each panel [blocks, kBlockPanel]: one of the two,
  const float* scales = nullptr;
  const kit::Float16* half_scales = nullptr;
  // and one of these, or none, which is half of what the bits can count for all.
  const uint8_t* zeros = nullptr;
  const float* real_zeros = nullptr;

  int64_t rows() const { return blocks * block; }
};

// `columns`: for each column of a panel `rows` numbers of `bits` bits, the first in the lowest bits; null where there
// is none.
void PackBlockPanel(const uint8_t* const* columns, int bits, int64_t rows, uint32_t* words);

struct BlockLeft {
  const float* a = nullptr;
  int64_t stride = 0;  // between rows, at least all of W's
  int64_t rows = 0;
  const float* sums = nullptr;  // [rows, blocks]: of each block, as SumBlocks makes them
};
void SumBlocks(const float* row, int64_t blocks, int64_t block, float* sums);
void RowsTimesBlockPanel(const BlockQuantized& weights, int64_t panel, const BlockLeft& left, float* y);

// The left side as bytes, whose products are sums of integers within a block. With one digit for an element they are
// fast; with three, the highest first and each 256 of the next, they are as exact as floats are, and with VNNI faster.
struct ByteBlockLeft {
  const int8_t* a = nullptr;  // for each row [digits, all of W's rows]
  int64_t stride = 0;         // between rows
  int64_t rows = 0;
  const float* scales = nullptr;  // [rows, blocks]: of the lowest digit
  const float* sums = nullptr;    // [rows, blocks]
  int digits = 1;                 // or 3
};
// One row: the highest digit of a block's largest element is 127 or -127. Sums are those of numbers times scale.
void QuantizeBlocks(const float* row, int64_t blocks, int64_t block, int digits, int8_t* numbers, float* scales,
                    float* sums);
void RowsTimesBlockPanel(const BlockQuantized& weights, int64_t panel, const ByteBlockLeft& left, float* y);

// W's rows [first, first + count) as floats, [count, kBlockPanel]: for many rows on the left. Multiples of 16.
void WidenBlockPanel(const BlockQuantized& weights, int64_t panel, int64_t first, int64_t count, float* to);

}  // namespace epiphyte::cpu::simd
