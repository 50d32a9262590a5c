// Product: batches of matrix products on the device, for every operator that has some: MatMul, Gemm, Einsum, attention
// and recurrent networks describe theirs with strides, and the kernel is chosen here.
//
//     Product product = {.batches = 1, .m = m, .n = n, .k = k,
//                        .a = {r.InputTensor(0), k, 1}, .b = {r.InputTensor(1), n, 1}, .y = {y, n, 1}};
//     RecordProduct(r, product);
//
// Constant second operands are packed when the partition is compiled (PackSecondOperand), so that a kernel reads them
// from front to back.
#pragma once

#include <cstdint>
#include <vector>

#include "epiphyte/kit/fuse/activation.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// A tensor as matrices: an element lies at batch * `batch` + row * `row` + column * `column`, in elements.
struct MatrixView {
  int32_t tensor = -1;
  int64_t row = 0;
  int64_t column = 0;
  int64_t batch = 0;
};

// Rows of a are read up to their stride when their elements are contiguous (column is 1) and the stride is a multiple
// of 4 above k. The elements between k and the stride must be numbers, of any value.
//
// y = activation(alpha * a b + beta * c + residual). a is [m, k], b [k, n], y, c and residual are [m, n]; the strides
// of c are 0 where it is broadcast, and the residual lies as y.
struct Product {
  int64_t batches = 1;
  int64_t m = 0, n = 0, k = 0;
  MatrixView a, b, y;
  bool b_packed = false;  // by PackSecondOperand
  // Offsets of the matrices when batches have no constant stride: three numbers per batch, for a, b and y.
  std::vector<uint32_t> offsets;
  MatrixView c;
  int32_t residual = -1;
  float alpha = 1;
  float beta = 1;
  kit::fuse::Activation activation;
};

void RecordProduct(Recording& r, const Product& product);

// For Operator::bindings of who uses it.
inline constexpr uint32_t kProductBindings = 5;

// Packs input 1 under kPackedOperand if it is a constant matrix [k, n], or transposed [n, k], that can be packed. The
// packed operand serves products with a first operand of dense rows.
void PackSecondOperand(Packing& packing, bool transposed);
inline constexpr std::string_view kPackedOperand = "b";
// Shape of the packed operand.
Dims PackedOperandDims(int64_t k, int64_t n);

}  // namespace epiphyte::vulkan
