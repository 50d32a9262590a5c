// Integer GEMMs on the context's threads: cache-sized blocks of rows times panels of weights.
//
//     MatrixRows left(a, …);                      // source of the rows: a matrix, or the patches of a convolution
//     ByteOutput output = …;
//     MultiplyBytes(context, left, weights, output);
#pragma once

#include <cstdint>

#include "plugins/cpu/ops/quantized/byte_weights.h"

namespace epiphyte::cpu {

// The left operands of `products` GEMMs with `rows` rows each.
class ByteRows {
 public:
  struct Piece {
    const uint8_t* data;
    int64_t stride;
  };

  virtual ~ByteRows() = default;
  // Returns rows [row, row + count) of a GEMM. 4 * ByteSteps(k) bytes of each row are readable. The rows are in place,
  // or made in `buffer`, which has room for them. [any thread]
  virtual Piece Get(int64_t product, int64_t row, int64_t count, uint8_t* buffer) const = 0;

  int64_t products = 1, rows = 0, k = 0;
  bool in_place = false;  // Get never copies
};

struct ByteOutput {
  simd::ByteResult result = simd::ByteResult::kSums;
  void* y = nullptr;
  int64_t y_stride = 0;        // row stride in elements
  int64_t product_stride = 0;  // stride between the results of two GEMMs, in elements
  // Group of weights for each GEMM; null: GEMM p uses group p.
  const int64_t* groups = nullptr;
  // By column, in the order of ByteWeights.
  const int32_t* start = nullptr;
  const float* factor = nullptr;
  const float* bias = nullptr;
  int32_t zero = 0, low = 0, high = 255;
  // One value for each row of each GEMM, added after multiplication by the column's sum of weights; null: none.
  const int32_t* of_sums = nullptr;
};

void MultiplyBytes(OpContext& context, const ByteRows& left, const ByteWeights& weights, const ByteOutput& output);

// Initial sums when all rows have one zero point: bias - zero * (sum of the column's weights), by column in the order
// of ByteWeights, in scratch memory. `bias`: one value for each column of each group, or null.
const int32_t* StartOfSums(OpContext& context, const ByteWeights& weights, int32_t zero, const int32_t* bias);

// MultiplyBytes with `reserved` weights (byte_weights.h). Each panel is packed by the thread that multiplies by it
// next, if only one thread does. `zero` and `bias`: as in StartOfSums. output.start is ignored.
void MultiplyBytes(OpContext& context, const ByteRows& left, const BytesToPack& bytes, const ByteWeights& reserved,
                   int32_t zero, const int32_t* bias, ByteOutput output);

}  // namespace epiphyte::cpu
