// MatMulInteger and QLinearMatMul: matmul of 8-bit tensors with zero points; and the kit's QLinearMatMul with a bias,
// an optional transposition, and bounds (epiphyte/kit/fuse/operators.hpp).
#include <algorithm>
#include <vector>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/qdq/integer_product.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "plugins/cpu/ops/quantized/byte_multiply.h"
#include "plugins/cpu/ops/quantized/integer_product.h"

namespace epiphyte::cpu {
namespace {

// Zero point of a row or column. `zero` has one value, one for each row or column, or that for each matrix of the
// batch.
int32_t ZeroAt(const Tensor* zero, int64_t product, int64_t index, int64_t size) {
  if (zero == nullptr) return 0;
  const int64_t count = zero->Count();
  if (count == 1) return ByteAt(*zero, 0);
  return ByteAt(*zero, count == size ? index : product * size + index);
}

// Input i as such zero points, or null when it is left out.
const Tensor* ZeroPoints(OpContext& context, size_t i, std::string_view name, int64_t products, int64_t size,
                         std::string_view item) {
  const Tensor* zero = context.OptionalInput(i);
  if (zero == nullptr || (Contains(kByteTypes, zero->type) && zero->Count() == products * size)) return zero;
  return &ParameterPerItem(context, i, name, size, item, kByteTypes);
}

// Rows of the left operand: in place, or copied with the padding that the GEMM needs.
class MatrixRows final : public ByteRows {
 public:
  MatrixRows(const Tensor& a, int64_t product_count, int64_t row_count, int64_t depth)
      : data_(a.as<uint8_t>()), flips_(a.type == EP_TYPE_INT8) {
    products = product_count;
    rows = row_count;
    k = depth;
    in_place = !flips_ && k % 4 == 0;
  }
  // Matrix of `a` for each GEMM; null: GEMM p has matrix p.
  const int64_t* matrices = nullptr;

  Piece Get(int64_t product, int64_t row, int64_t count, uint8_t* buffer) const override {
    const int64_t matrix = matrices == nullptr ? product : matrices[product];
    const uint8_t* const from = data_ + (matrix * rows + row) * k;
    const int64_t stride = simd::ByteSteps(k) * 4;
    if (!flips_ && stride == k) return {from, k};
    if (stride == k) {
      simd::FlipBytes(from, buffer, count * k);
      return {buffer, k};
    }
    for (int64_t r = 0; r < count; ++r) {
      uint8_t* const to = buffer + r * stride;
      if (flips_) {
        simd::FlipBytes(from + r * k, to, k);
      } else {
        std::copy_n(from + r * k, k, to);
      }
      std::fill(to + k, to + stride, uint8_t{0});  // multiplied by weights of 0
    }
    return {buffer, stride};
  }

 private:
  const uint8_t* data_;
  bool flips_;
};

// A byte GEMM; a constant right operand is packed at compile time.
class ByteMatMul {
 public:
  ByteMatMul(const KernelInit& init, size_t b_input, size_t b_zero_input, bool transposed)
      : b_input_(b_input), transposed_(transposed) {
    const Tensor* b = init.PeekConstant(b_input);
    if (b == nullptr || !Contains(kByteTypes, b->type) || b->rank() < 2 || b->Count() == 0) return;
    const Tensor* zero = nullptr;
    if (init.HasInput(b_zero_input)) {
      zero = init.Constant(b_zero_input);
      if (zero == nullptr || zero->data == nullptr || zero->type != b->type) return;
      const int64_t columns = b->dims[b->rank() - (transposed ? 2 : 1)];
      const int64_t count = zero->Count();
      if (count != 1 && count != columns && count != columns * b->dims.Count(0, b->rank() - 2)) return;
    }
    b_dims_ = b->dims;
    packed_ = StoreByteWeights(init, b_input, Describe(*b, zero));
  }

  bool packed() const { return static_cast<bool>(packed_); }
  // Dimensions of b in GEMM order.
  Dims BDims(OpContext& context) const {
    if (packed_) return Plain(b_dims_);
    const Tensor& b = context.Input(b_input_);
    RequireBytes(b, "b");
    return Plain(b.dims);
  }

  // `a_zero`: see ZeroPoints. `finish(weights, output)` configures the output of the sums.
  template <typename Finish>
  void Run(OpContext& context, const kit::ProductShape& shape, const Tensor& a, const Tensor* a_zero,
           const Tensor* b_zero, const int32_t* bias, const Finish& finish) const {
    const int64_t b_count = shape.b_batch.Count(), a_count = shape.a_batch.Count(), batch = shape.batch.Count();
    BytesToPack bytes;
    if (!packed_) bytes = Describe(context.Input(b_input_), b_zero);
    const ByteWeights weights = packed_ ? packed_ : ReserveByteWeights(context, bytes);
    // One right matrix for all batches: all rows form one GEMM.
    const bool joined = b_count == 1 && a_count == batch;
    MatrixRows left(a, joined ? 1 : batch, joined ? batch * shape.m : shape.m, shape.k);
    ByteOutput output;
    output.y_stride = shape.n;
    output.product_stride = left.rows * shape.n;
    if (!joined) {
      left.matrices = Offsets(context, batch, [&](int64_t i) { return shape.OffsetA(i); });
      output.groups = Offsets(context, batch, [&](int64_t i) { return shape.OffsetB(i); });
    }
    const int32_t flipped = a.type == EP_TYPE_INT8 ? 128 : 0;
    const bool one_zero = a_zero == nullptr || a_zero->Count() == 1;
    const int32_t zero = one_zero ? ZeroAt(a_zero, 0, 0, 1) + flipped : 0;
    if (packed_) output.start = StartOfSums(context, weights, zero, bias);
    if (!one_zero) {
      auto* const of_sums = static_cast<int32_t*>(context.Scratch(static_cast<uint64_t>(batch * shape.m) * 4));
      for (int64_t i = 0; i < batch; ++i) {
        for (int64_t r = 0; r < shape.m; ++r)
          of_sums[i * shape.m + r] = -(ZeroAt(a_zero, shape.OffsetA(i), r, shape.m) + flipped);
      }
      output.of_sums = of_sums;
    }
    finish(weights, output);
    if (packed_) return MultiplyBytes(context, left, weights, output);
    MultiplyBytes(context, left, bytes, weights, zero, bias, output);
  }

 private:
  Dims Plain(const Dims& dims) const {
    Dims plain = dims;
    if (transposed_ && plain.size() >= 2) std::swap(plain[plain.size() - 1], plain[plain.size() - 2]);
    return plain;
  }

  BytesToPack Describe(const Tensor& b, const Tensor* zero) const {
    const size_t rank = b.rank();
    const Dims dims = rank >= 2 ? Plain(b.dims) : b.dims;
    BytesToPack bytes;
    simd::ByteMatrix& w = bytes.first;
    w.data = b.as<uint8_t>();
    bytes.is_signed = b.type == EP_TYPE_INT8;
    w.flip = bytes.is_signed ? 0 : 0x80;
    w.columns = rank >= 2 ? dims[rank - 1] : 1;
    w.inner = rank >= 2 ? dims[rank - 2] : dims[0];
    w.column_stride = transposed_ ? w.inner : 1;
    w.inner_stride = transposed_ ? 1 : w.columns;
    bytes.groups = rank >= 2 ? b.dims.Count(0, rank - 2) : 1;
    bytes.group_stride = w.columns * w.inner;
    bytes.zero = zero;
    return bytes;
  }

  template <typename Offset>
  static const int64_t* Offsets(OpContext& context, int64_t count, const Offset& offset) {
    auto* const offsets = static_cast<int64_t*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(int64_t)));
    for (int64_t i = 0; i < count; ++i) offsets[i] = offset(i);
    return offsets;
  }

  size_t b_input_;
  bool transposed_;
  Dims b_dims_;
  ByteWeights packed_;
};

class MatMulIntegerKernel : public Kernel {
 public:
  explicit MatMulIntegerKernel(const KernelInit& init) : product_(init, 1, 3, false) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    RequireBytes(a, "A");
    const kit::ProductShape shape(a.dims, product_.BDims(context));
    int32_t* y = context.Output(0, EP_TYPE_INT32, shape.y).as<int32_t>();
    const Tensor* a_zero = ZeroPoints(context, 2, "a_zero_point", shape.a_batch.Count(), shape.m, "row");
    const Tensor* b_zero = ZeroPoints(context, 3, "b_zero_point", shape.b_batch.Count(), shape.n, "column");
    product_.Run(context, shape, a, a_zero, b_zero, nullptr,
                 [&](const ByteWeights&, ByteOutput& output) { output.y = y; });
  }

 private:
  ByteMatMul product_;
};

class MatMulIntegerToFloatKernel : public Kernel {
 public:
  explicit MatMulIntegerToFloatKernel(const KernelInit& init) : product_(init, 1, 3, false) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    RequireBytes(a, "A");
    const kit::ProductShape shape(a.dims, product_.BDims(context));
    Tensor& y = context.Output(0, EP_TYPE_FLOAT, shape.y);
    const Tensor* a_zero = ZeroPoints(context, 2, "a_zero_point", shape.a_batch.Count(), shape.m, "row");
    const Tensor* b_zero = ZeroPoints(context, 3, "b_zero_point", shape.b_batch.Count(), shape.n, "column");
    const FloatResult result(context, 4, shape.n, "column", true);
    product_.Run(context, shape, a, a_zero, b_zero, nullptr, [&](const ByteWeights& weights, ByteOutput& output) {
      output.y = y.data;
      result.SetTo(context, weights, output);
    });
  }

 private:
  ByteMatMul product_;
};

class QLinearMatMulKernel : public Kernel {
 public:
  explicit QLinearMatMulKernel(const KernelInit& init)
      : product_(init, 3, 5, init.node().domain == kit::fuse::kDomain && init.node().Int("transB", 0) != 0),
        bounds_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    RequireBytes(a, "a");
    const kit::ProductShape shape(a.dims, product_.BDims(context));
    const Tensor& a_scale = ParameterPerItem(context, 1, "a_scale", shape.m, "row", kFloats);
    const Tensor* a_zero = ZeroPoints(context, 2, "a_zero_point", shape.a_batch.Count(), shape.m, "row");
    const Tensor& b_scale = ParameterPerItem(context, 4, "b_scale", shape.n, "column", kFloats);
    const Tensor* b_zero = ZeroPoints(context, 5, "b_zero_point", shape.b_batch.Count(), shape.n, "column");
    const Tensor& y_scale = ParameterPerItem(context, 6, "y_scale", shape.m, "row", kFloats);
    const Tensor& y_zero = ParameterPerItem(context, 7, "y_zero_point", shape.m, "row", kByteTypes);
    const Tensor* bias = context.OptionalInput(8);
    if (bias != nullptr && (bias->type != EP_TYPE_INT32 || bias->Count() != shape.n)) {
      FailOp("bias has shape {} and type {}, expected [{}] of int32", ShapeText(bias->dims), TypeName(bias->type),
             shape.n);
    }
    Tensor& y = context.Output(0, y_zero.type, shape.y);
    const ResultBounds bounds = bounds_.Of(y.type);
    const bool one_scale = a_scale.Count() == 1 && y_scale.Count() == 1 && y_zero.Count() == 1;
    int32_t* sums = nullptr;
    product_.Run(context, shape, a, a_zero, b_zero, bias == nullptr ? nullptr : bias->as<int32_t>(),
                 [&](const ByteWeights& weights, ByteOutput& output) {
                   if (!one_scale) {
                     sums = static_cast<int32_t*>(context.Scratch(static_cast<uint64_t>(y.Count()) * 4));
                     output.y = sums;
                     return;
                   }
                   output.result = simd::ByteResult::kRequantized;
                   output.y = y.data;
                   output.zero = ByteAt(y_zero, 0);
                   output.low = bounds.low;
                   output.high = bounds.high;
                   output.factor = RequantizationFactors(context, weights, ParameterAt(a_scale, 0), b_scale,
                                                         ParameterAt(y_scale, 0));
                 });
    if (sums == nullptr || shape.n == 0) return;
    ParallelLoop(context, y.Count() / shape.n, shape.n * 4, [&](int64_t begin, int64_t end) {
      std::vector<float> factors(static_cast<size_t>(shape.n));
      for (int64_t line = begin; line < end; ++line) {
        const int64_t row = line % shape.m;
        for (int64_t i = 0; i < shape.n; ++i)
          factors[static_cast<size_t>(i)] = kit::qdq::RequantizationFactor(
              ParameterAt(a_scale, row), ParameterAt(b_scale, i), ParameterAt(y_scale, row));
        simd::RequantizeRow(sums + line * shape.n, factors.data(), ByteAt(y_zero, y_zero.Count() == 1 ? 0 : row),
                            bounds.low, bounds.high, y.as<uint8_t>() + line * shape.n, shape.n);
      }
    });
  }

 private:
  ByteMatMul product_;
  BoundsAttributes bounds_;
};

}  // namespace

void Register_integer_matmul(KernelRegistry& registry) {
  registry.Add<MatMulIntegerKernel>("MatMulInteger", 10, kByteTypes);
  registry.Add<MatMulIntegerToFloatKernel>(kit::fuse::kMatMulIntegerToFloat, 1, kByteTypes, INT64_MAX,
                                           kit::fuse::kDomain);
  registry.Add<QLinearMatMulKernel>("QLinearMatMul", 10, kByteTypes);
  registry.Add<QLinearMatMulKernel>(kit::fuse::kQLinearMatMul, 1, kByteTypes, INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
