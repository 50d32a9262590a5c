// Product: a batch of GEMMs on the device. MatMul, Gemm, Einsum, attention and recurrent networks describe theirs with
// strides, and RecordProduct chooses the kernel.
//
//     Product product = {.batches = 1, .m = m, .n = n, .k = k,
//                        .a = {r.InputTensor(0), k, 1}, .b = {r.InputTensor(1), n, 1}, .y = {y, n, 1}};
//     RecordProduct(r, product);
//
// A constant second operand is packed when the partition is compiled (PackSecondOperand), so that a kernel reads it
// from front to back.
#pragma once

#include <cstdint>
#include <vector>

#include "epiphyte/kit/fuse/activation.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// A tensor as a batch of matrices: element [b, i, j] lies at b * batch + i * row + j * column, in elements.
struct MatrixView {
  int32_t tensor = -1;
  int64_t row = 0;
  int64_t column = 0;
  int64_t batch = 0;
};

// y = activation(alpha * a b + beta * c + residual). a is [m, k], b [k, n], y, c and residual are [m, n]. The strides
// of c are 0 where it is broadcast, and the residual has the layout of y.
//
// Rows of a are read up to the next multiple of 4 if their elements are contiguous (column is 1) and their stride is a
// multiple of 4 that is at least k. The elements between k and the stride must be finite, because kernels multiply them
// by 0.
struct Product {
  int64_t batches = 1;
  int64_t m = 0, n = 0, k = 0;
  MatrixView a, b, y;
  bool b_packed = false;  // b is an operand that PackSecondOperand packed
  // Offsets of the matrices when batches have no constant stride: three numbers per batch, for a, b and y.
  std::vector<uint32_t> offsets;
  MatrixView c;
  int32_t residual = -1;
  float alpha = 1;
  float beta = 1;
  kit::fuse::Activation activation;
};

void RecordProduct(Recording& r, const Product& product);

// Value of Operator::bindings for operators that call RecordProduct.
inline constexpr uint32_t kProductBindings = 5;

// Packs input 1 under the key kPackedOperand if it is a constant matrix that can be packed: [k, n], or [n, k] if
// `transposed`. A product with the packed operand needs a first operand of dense rows.
void PackSecondOperand(Packing& packing, bool transposed);
inline constexpr std::string_view kPackedOperand = "b";
// Shape of the packed operand.
Dims PackedOperandDims(int64_t k, int64_t n);

}  // namespace epiphyte::vulkan
