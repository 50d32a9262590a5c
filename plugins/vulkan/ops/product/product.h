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

// Rows of a whose elements lie side by side (column is 1) and whose stride is a multiple of 4 that is more than k are
// read up to that: there stand numbers, of any value.
//
// y = activation(alpha * a b + beta * c + residual). a is [m, k], b [k, n], y, c and residual are [m, n]; the strides
// of c are 0 where it is broadcast, and the residual lies as y.
struct Product {
  int64_t batches = 1;
  int64_t m = 0, n = 0, k = 0;
  MatrixView a, b, y;
  bool b_packed = false;  // by PackSecondOperand
  // Where the matrices of each batch begin, if that is no stride: of a, b and y, three numbers a batch.
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

// Whether the constant input 1, a matrix [k, n], or transposed [n, k], can be packed for products whose first operand
// has dense rows; and does it, under kPackedOperand.
void PackSecondOperand(Packing& packing, bool transposed);
inline constexpr std::string_view kPackedOperand = "b";
// The shape of what is packed.
Dims PackedOperandDims(int64_t k, int64_t n);

}  // namespace epiphyte::vulkan
