// MatMul and Gemm of ONNX, and those of the kit, which have operators fused behind them: bias, residual, activation.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "plugins/vulkan/ops/product/product.h"

namespace epiphyte::vulkan {
namespace {

// --- MatMul

void PackMatMul(Packing& packing) { PackSecondOperand(packing, false); }

// Sets which matrices of the operands a batch multiplies: by a stride for each operand if possible, else by a table of
// offsets.
void SetBatches(const kit::ProductShape& shape, Product* product) {
  const int64_t a_size = shape.m * shape.k, b_size = shape.k * shape.n, y_size = shape.m * shape.n;
  product->y.batch = y_size;
  const int64_t count = shape.batch.Count();
  product->batches = count;
  if (count <= 1) return;
  const bool a_all = shape.a_batch.Count() == count, a_one = shape.a_batch.Count() == 1;
  const bool b_all = shape.b_batch.Count() == count, b_one = shape.b_batch.Count() == 1;
  if ((a_all || a_one) && (b_all || b_one)) {
    product->a.batch = a_all ? a_size : 0;
    product->b.batch = b_all ? b_size : 0;
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    product->offsets.push_back(Word(shape.OffsetA(i) * a_size));
    product->offsets.push_back(Word(shape.OffsetB(i) * b_size));
    product->offsets.push_back(Word(i * y_size));
  }
}

void RecordMatMul(Recording& r) {
  const bool fused = r.node().domain == kit::fuse::kDomain;
  const kit::ProductShape shape(r.InputDims(0), r.InputDims(1));
  const int32_t y = r.Output(0, r.InputType(0), shape.y);
  Product product;
  product.m = shape.m;
  product.n = shape.n;
  product.k = shape.k;
  product.a = {r.InputTensor(0), shape.k, 1};
  product.b_packed = r.HasPacked(kPackedOperand);
  product.b = {product.b_packed ? r.Packed(kPackedOperand, r.InputType(0), PackedOperandDims(shape.k, shape.n))
                                : r.InputTensor(1),
               shape.n, 1};
  product.y = {y, shape.n, 1};
  SetBatches(shape, &product);
  if (product.batches > 1 && product.offsets.empty() && product.b.batch == 0) {
    // All batches multiply by the same matrix, so that their rows are the rows of one product.
    product.m *= product.batches;
    product.batches = 1;
  }
  if (fused) {
    product.activation = kit::fuse::Activation::Read(r.node());
    if (r.HasInput(2)) {
      const Dims& bias = r.InputDims(2);
      if (bias.empty() || bias.back() != shape.n || bias.Count() != shape.n)
        kit::FailArgument("bias has shape ", kit::ShapeText({bias.data(), bias.size()}), ", expected [", shape.n, "]");
      product.c = {r.InputTensor(2), 0, 1};
    }
    if (r.HasInput(3)) {
      if (r.InputDims(3) != shape.y) kit::FailArgument("the residual has not the shape of the result");
      product.residual = r.InputTensor(3);
    }
  }
  RecordProduct(r, product);
}

// --- Gemm

bool IsTransposed(const ir::Node& node, std::string_view which) { return node.Int(which, 0) != 0; }

void PackGemm(Packing& packing) {
  // The kernels for a packed operand need a first operand with dense rows.
  if (!IsTransposed(packing.node(), "transA")) PackSecondOperand(packing, IsTransposed(packing.node(), "transB"));
}

void RecordGemm(Recording& r) {
  const ir::Node& node = r.node();
  const bool transpose_a = IsTransposed(node, "transA"), transpose_b = IsTransposed(node, "transB");
  const kit::GemmShape shape(r.InputDims(0), r.InputDims(1), transpose_a, transpose_b);
  const int32_t y = r.Output(0, r.InputType(0), {shape.m, shape.n});
  Product product;
  product.m = shape.m;
  product.n = shape.n;
  product.k = shape.k;
  product.a = {r.InputTensor(0), transpose_a ? 1 : shape.k, transpose_a ? shape.m : 1};
  product.b_packed = r.HasPacked(kPackedOperand);
  product.b = {product.b_packed ? r.Packed(kPackedOperand, r.InputType(0), PackedOperandDims(shape.k, shape.n))
                                : r.InputTensor(1),
               transpose_b ? 1 : shape.n, transpose_b ? shape.k : 1};
  product.y = {y, shape.n, 1};
  product.alpha = node.Float("alpha", 1);
  product.beta = node.Float("beta", 1);
  if (r.HasInput(2)) {
    const kit::GemmAddend addend(r.InputDims(2), shape);
    product.c = {r.InputTensor(2), addend.rows == 1 ? 0 : addend.columns, addend.columns == 1 ? 0 : 1};
  }
  if (node.domain == kit::fuse::kDomain) product.activation = kit::fuse::Activation::Read(node);
  RecordProduct(r, product);
}

}  // namespace

void Register_matmul(OperatorTable& table) {
  table.Add({.op_type = "MatMul", .pack = PackMatMul, .record = RecordMatMul, .bindings = kProductBindings});
  table.Add({.op_type = "MatMul",
             .domain = kit::fuse::kDomain,
             .pack = PackMatMul,
             .record = RecordMatMul,
             .bindings = kProductBindings});
  table.Add({.op_type = "Gemm", .pack = PackGemm, .record = RecordGemm, .bindings = kProductBindings});
  table.Add({.op_type = "Gemm",
             .domain = kit::fuse::kDomain,
             .pack = PackGemm,
             .record = RecordGemm,
             .bindings = kProductBindings});
}

}  // namespace epiphyte::vulkan
