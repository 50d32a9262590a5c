// ProductShape and GemmShape: shapes of matrix products. ProductShape follows numpy.matmul: batches broadcast, and a
// vector is a matrix of one row or one column.
//
//   const kit::ProductShape shape(a, b);
//   for (int64_t i = 0; i < shape.batch.Count(); ++i)
//     Multiply(a + shape.OffsetA(i) * shape.m * shape.k, b + shape.OffsetB(i) * shape.k * shape.n, …);
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// Throws Error(EP_STATUS_INVALID_ARGUMENT) for shapes that can't be multiplied.
struct ProductShape {
  Dims batch, y;
  int64_t m = 0, k = 0, n = 0;
  Dims a_batch, b_batch;  // batch dimensions of the operands, with leading ones up to the rank of `batch`

  ProductShape() = default;
  ProductShape(const Dims& a, const Dims& b);

  // Index of the operand's matrix for batch `index`.
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

// The shape of a Gemm; either matrix may be transposed.
struct GemmShape {
  int64_t m = 0, k = 0, n = 0;

  GemmShape() = default;
  GemmShape(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b);
};

// Gemm's addend as [rows, columns], which broadcast to [m, n].
struct GemmAddend {
  int64_t rows = 1, columns = 1;

  GemmAddend(const Dims& c, const GemmShape& shape);
  // Offset of the addend's element for `row` and `column` of the result.
  int64_t Offset(int64_t row, int64_t column) const {
    return (rows == 1 ? 0 : row * columns) + (columns == 1 ? 0 : column);
  }
};

}  // namespace epiphyte::kit
