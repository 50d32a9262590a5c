// The two GEMMs of attention in bfloat16 by AMX (simd/gemm/bfloat16_product.h), for one head at a time.
//
//   Bfloat16Attention products(rows, keys, depth, width);
//   if (products.TakeKeys(k, row, column) && products.TakeValues(v, row, column)) {
//     products.Score(q, q_row, rows, scores, scores_row);     // scores[rows, keys] = q k
//     …
//     products.Weigh(scores, scores_row, rows, y, y_row);     // y[rows, width] = scores v
//   }
#pragma once

#include <cstdint>
#include <memory>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu {

class Bfloat16Attention {
 public:
  // `rows`: maximum number of rows in a call.
  Bfloat16Attention(int64_t rows, int64_t keys, int64_t depth, int64_t width);

  // Packs keys [depth, keys] and values [keys, width] with the given row and column strides. Returns false unless one
  // of the strides is 1.
  bool TakeKeys(const float* k, int64_t row, int64_t column);
  bool TakeValues(const float* v, int64_t row, int64_t column);
  void Score(const float* q, int64_t q_row, int64_t rows, float* scores, int64_t scores_row);
  void Weigh(const float* scores, int64_t scores_row, int64_t rows, float* y, int64_t y_row);

 private:
  bool Take(const float* from, int64_t row, int64_t column, int64_t k, int64_t n, kit::BFloat16* panels);
  void Multiply(const float* a, int64_t a_row, int64_t rows, int64_t k, int64_t n, const kit::BFloat16* panels,
                float* y, int64_t y_row);

  int64_t keys_, depth_, width_;
  std::shared_ptr<void> memory_;
  kit::BFloat16 *key_panels_, *value_panels_;
  uint16_t *tiles_, *turned_;
  void* scratch_;
};

}  // namespace epiphyte::cpu
