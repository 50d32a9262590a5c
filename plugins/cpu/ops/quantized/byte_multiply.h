// Integer products on the context's threads: blocks of rows, each as large as a cache likes, times panels of weights.
//
//     MatrixRows left(a, …);                      // where the rows come from: a matrix, the patches of a convolution
//     ByteOutput output = …;
//     MultiplyBytes(context, left, weights, output);
#pragma once

#include <cstdint>

#include "plugins/cpu/ops/quantized/byte_weights.h"

namespace epiphyte::cpu {

// The left sides of `products` products, of `rows` rows each.
class ByteRows {
 public:
  struct Piece {
    const uint8_t* data;
    int64_t stride;
  };

  virtual ~ByteRows() = default;
  // Rows [row, row + count) of a product, each with 4 * ByteSteps(k) bytes that may be read: in place, or made in
  // `buffer`, which has room for them. [any thread]
  virtual Piece Get(int64_t product, int64_t row, int64_t count, uint8_t* buffer) const = 0;

  int64_t products = 1, rows = 0, k = 0;
  bool in_place = false;  // Get copies nothing
};

struct ByteOutput {
  simd::ByteResult result = simd::ByteResult::kSums;
  void* y = nullptr;
  int64_t y_stride = 0;        // between rows, in elements
  int64_t product_stride = 0;  // between products
  // Which group of the weights a product has: null: product p has group p.
  const int64_t* groups = nullptr;
  // By column as ByteWeights has it.
  const int32_t* start = nullptr;
  const float* factor = nullptr;
  const float* bias = nullptr;
  int32_t zero = 0, low = 0, high = 255;
  // One for each row of each product, which adds itself times the sum of the column's weights; null: none.
  const int32_t* of_sums = nullptr;
};

void MultiplyBytes(OpContext& context, const ByteRows& left, const ByteWeights& weights, const ByteOutput& output);

// What sums begin with where rows have one zero point: bias - zero * (sum of the column's weights), by column as
// ByteWeights has it. `bias` has one for each column of each group, or is null. In scratch memory.
const int32_t* StartOfSums(OpContext& context, const ByteWeights& weights, int32_t zero, const int32_t* bias);

// The same for weights that are `reserved` (byte_weights.h): each panel is packed by the thread that multiplies by it
// next, where only one does. `zero` and `bias` as StartOfSums has them; output.start is ignored.
void MultiplyBytes(OpContext& context, const ByteRows& left, const BytesToPack& bytes, const ByteWeights& reserved,
                   int32_t zero, const int32_t* bias, ByteOutput output);

}  // namespace epiphyte::cpu
