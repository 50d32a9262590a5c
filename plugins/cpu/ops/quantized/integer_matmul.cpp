// MatMulInteger and QLinearMatMul: numpy's matmul of 8-bit tensors with zero points.
#include <vector>

#include "epiphyte/kit/qdq/integer_product.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "plugins/cpu/ops/quantized/integer_product.h"
#include "plugins/cpu/simd/tile_matmul.h"

namespace epiphyte::cpu {
namespace {

// Zero points: one, one for each row or column, or that for each matrix of the batch.
int32_t ZeroAt(const Tensor* zero, int64_t product, int64_t index, int64_t size) {
  if (zero == nullptr) return 0;
  const int64_t count = zero->Count();
  if (count == 1) return ByteAt(*zero, 0);
  return ByteAt(*zero, count == size ? index : product * size + index);
}

// Input i as those, or null when it is left out.
const Tensor* ZeroPoints(OpContext& context, size_t i, std::string_view name, int64_t products, int64_t size,
                         std::string_view item) {
  const Tensor* zero = context.OptionalInput(i);
  if (zero == nullptr || (Contains(kByteTypes, zero->type) && zero->Count() == products * size)) return zero;
  return &ParameterPerItem(context, i, name, size, item, kByteTypes);
}

// Calls store(product, row, sums) for every row of the result.
template <typename Store>
void Multiply(OpContext& context, const kit::ProductShape& shape, const Tensor& a, const Tensor* a_zero,
              const Tensor& b, const Tensor* b_zero, const Store& store) {
  const int64_t m = shape.m, n = shape.n, k = shape.k;
  const int64_t a_count = shape.a_batch.Count(), b_count = shape.b_batch.Count();
  auto* left = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(a_count * m * k) * sizeof(uint32_t)));
  auto* right = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(b_count * k * n) * sizeof(uint32_t)));
  auto* sums = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(shape.batch.Count() * m * n) * 4));
  for (int64_t row = 0; row < a_count * m; ++row) {
    SubtractZero(a, row * k, k, ZeroAt(a_zero, row / m, row % m, m), left + row * k);
  }
  for (int64_t row = 0; row < b_count * k; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      right[row * n + column] = static_cast<uint32_t>(ByteAt(b, row * n + column) - ZeroAt(b_zero, row / k, column, n));
    }
  }
  ParallelLoop(context, shape.batch.Count() * m, n * k, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t product = begin / m, row = begin % m;
      const int64_t rows = std::min(end, (product + 1) * m) - begin;
      uint32_t* out = sums + begin * n;
      std::fill_n(out, rows * n, 0u);
      simd::TileMatMul(left + (shape.OffsetA(product) * m + row) * k, k, right + shape.OffsetB(product) * k * n, n, out,
                       n, rows, n, k);
      for (int64_t i = 0; i < rows; ++i) store(begin + i, row + i, reinterpret_cast<const int32_t*>(out + i * n));
      begin += rows;
    }
  });
}

class MatMulIntegerKernel : public Kernel {
 public:
  explicit MatMulIntegerKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    RequireBytes(a, "A");
    RequireBytes(b, "B");
    const kit::ProductShape shape(a.dims, b.dims);
    int32_t* y = context.Output(0, EP_TYPE_INT32, shape.y).as<int32_t>();
    const Tensor* a_zero = ZeroPoints(context, 2, "a_zero_point", shape.a_batch.Count(), shape.m, "row");
    const Tensor* b_zero = ZeroPoints(context, 3, "b_zero_point", shape.b_batch.Count(), shape.n, "column");
    Multiply(context, shape, a, a_zero, b, b_zero,
             [&](int64_t line, int64_t, const int32_t* sums) { std::copy_n(sums, shape.n, y + line * shape.n); });
  }
};

class QLinearMatMulKernel : public Kernel {
 public:
  explicit QLinearMatMulKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(3);
    RequireBytes(a, "a");
    RequireBytes(b, "b");
    const kit::ProductShape shape(a.dims, b.dims);
    const Tensor& a_scale = ParameterPerItem(context, 1, "a_scale", shape.m, "row", kFloats);
    const Tensor* a_zero = ZeroPoints(context, 2, "a_zero_point", shape.a_batch.Count(), shape.m, "row");
    const Tensor& b_scale = ParameterPerItem(context, 4, "b_scale", shape.n, "column", kFloats);
    const Tensor* b_zero = ZeroPoints(context, 5, "b_zero_point", shape.b_batch.Count(), shape.n, "column");
    const Tensor& y_scale = ParameterPerItem(context, 6, "y_scale", shape.m, "row", kFloats);
    const Tensor& y_zero = ParameterPerItem(context, 7, "y_zero_point", shape.m, "row", kByteTypes);
    Tensor& y = context.Output(0, y_zero.type, shape.y);
    Multiply(context, shape, a, a_zero, b, b_zero, [&](int64_t line, int64_t row, const int32_t* sums) {
      const float row_scale = ParameterAt(a_scale, row), row_y_scale = ParameterAt(y_scale, row);
      const float zero = ParameterAt(y_zero, row);
      for (int64_t i = 0; i < shape.n; ++i) {
        StoreRequantized(y, line * shape.n + i, sums[i],
                         kit::qdq::RequantizationFactor(row_scale, ParameterAt(b_scale, i), row_y_scale), zero);
      }
    });
  }
};

}  // namespace

void Register_integer_matmul(KernelRegistry& registry) {
  constexpr TypeSet kBytes = Types(EP_TYPE_INT8, EP_TYPE_UINT8);
  registry.Add<MatMulIntegerKernel>("MatMulInteger", 10, kBytes);
  registry.Add<QLinearMatMulKernel>("QLinearMatMul", 10, kBytes);
}

}  // namespace epiphyte::cpu
