// GEMM for use inside kernels: einsum, attention, integer GEMMs. MatMul, Gemm and Conv of floats use oneDNN.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// T: float, double, uint32_t or uint64_t.
template <typename T>
struct TileOperands {
  const T* a;
  int64_t a_stride;  // distance between rows in elements, as the other strides
  const T* b;
  int64_t b_stride;
  T* y;
  int64_t y_stride;
  int64_t m, n, k;
  bool replaces = false;  // y = a b; the previous y is ignored
};
// y[m,n] += a[m,k] b[k,n], row-major. Unsigned integers wrap, as sums of integers must be allowed to. Each float
// element is one sum in the order of k, with fused multiply-add where the CPU has it.
void TileMatMul(const TileOperands<float>& operands);
void TileMatMul(const TileOperands<double>& operands);
void TileMatMul(const TileOperands<uint32_t>& operands);
void TileMatMul(const TileOperands<uint64_t>& operands);

}  // namespace epiphyte::cpu::simd
