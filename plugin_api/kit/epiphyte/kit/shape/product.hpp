// The shape of a matrix product, as numpy.matmul has it: batches broadcast, vectors stand for matrices of one row or
// one column.
//
//   const kit::ProductShape shape(a, b);
//   for (int64_t i = 0; i < shape.batch.Count(); ++i)
//     Multiply(a + shape.OffsetA(i) * shape.m * shape.k, b + shape.OffsetB(i) * shape.k * shape.n, …);
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

struct ProductShape {
  Dims batch, y;
  int64_t m = 0, k = 0, n = 0;
  Dims a_batch, b_batch;  // of the operands, with ones in front to the rank of `batch`

  ProductShape() = default;
  // Throws Error(EP_STATUS_INVALID_ARGUMENT) for shapes that can't be multiplied.
  ProductShape(const Dims& a, const Dims& b);

  // Which matrix of an operand belongs to batch `index`.
  int64_t OffsetA(int64_t index) const { return Offset(a_batch, index); }
  int64_t OffsetB(int64_t index) const { return Offset(b_batch, index); }

 private:
  int64_t Offset(const Dims& own, int64_t index) const {
    int64_t offset = 0;
    int64_t stride = 1;
    for (size_t i = batch.size(); i-- > 0;) {
      const int64_t at = index % batch[i];
      index /= batch[i];
      if (own[i] != 1) offset += at * stride;
      stride *= own[i];
    }
    return offset;
  }
};

}  // namespace epiphyte::kit
