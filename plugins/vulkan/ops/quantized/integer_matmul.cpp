// MatMulInteger and QLinearMatMul: numpy's matmul of 8-bit tensors with zero points. The kit's QLinearMatMul also has a
// bias, a second operand that may be transposed, and a clamped result. A constant matrix is packed (quads.h).
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "plugins/vulkan/ops/quantized/quads.h"
#include "plugins/vulkan/ops/quantized/quantization.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

// Strides of zero points from matrix to matrix and from row to row (or column to column). There is one zero point, one
// for each of `size` rows or columns, or `size` for each matrix.
struct ZeroStrides {
  int64_t matrix = 0, item = 0;

  ZeroStrides(const Recording& r, size_t i, int64_t matrices, int64_t size, std::string_view name,
              std::string_view item_name) {
    if (!r.HasInput(i)) return;
    const int64_t count = r.InputDims(i).Count();
    if (count != 1 && count == matrices * size && matrices != 1) {
      matrix = size;
      item = 1;
    } else {
      item = ParameterStride(r, i, size, name, item_name);
    }
  }
};

// The layout of the second operand, which is [k, n], or [n, k] if it is transposed.
PackedFilters WeightsOf(int64_t k, int64_t n, bool transposed) {
  PackedFilters weights;
  weights.filters = n;
  weights.channels = k;
  weights.taps = 1;
  weights.filter_stride = transposed ? k : 1;
  weights.channel_stride = transposed ? 1 : n;
  return weights;
}

bool IsTransposed(const ir::Node& node) { return node.Int("transB", 0) != 0; }

template <const ProductOperands& kOperands>
void Pack(Packing& packing) {
  const ir::Tensor* b = packing.Constant(kOperands.w);
  if (b == nullptr || b->rank() != 2) return;
  const bool transposed = IsTransposed(packing.node());
  PackQuads(packing, kOperands, WeightsOf(b->dims[transposed ? 1 : 0], b->dims[transposed ? 0 : 1], transposed));
}

kit::ProductShape ShapeOf(const Recording& r, const ProductOperands& inputs) {
  Dims b = r.InputDims(inputs.w);
  if (IsTransposed(r.node()) && b.size() == 2) std::swap(b[0], b[1]);
  return kit::ProductShape(r.InputDims(inputs.x), b);
}

void RecordPacked(Recording& r, const kit::ProductShape& shape, const ProductOperands& operands, EpElementType type) {
  QuadProduct product;
  product.operands = operands;
  product.filters = WeightsOf(shape.k, shape.n, false);
  product.rows = shape.y.Count() == 0 ? 1 : shape.y.Count() / shape.n;
  product.y_type = type;
  product.y = shape.y;
  RecordQuads(r, product);
}

Dispatch MakeProduct(Recording& r, const kit::ProductShape& shape, const ProductOperands& operands) {
  const auto flag = [&](bool set, uint32_t bit) { return set ? bit : 0; };
  const ZeroStrides a_zero(r, operands.x_zero, shape.a_batch.Count(), shape.m, "a_zero_point", "row");
  const ZeroStrides b_zero(r, operands.w_zero, shape.b_batch.Count(), shape.n, "b_zero_point", "column");
  const int64_t batches = shape.batch.Count();
  const auto is_stride = [&](const Dims& batch) { return batch.Count() == batches || batch.Count() == 1; };
  const bool table = !is_stride(shape.a_batch) || !is_stride(shape.b_batch);
  Dispatch dispatch;
  dispatch.specialization = {flag(r.InputType(operands.x) == EP_TYPE_INT8, shader::kIntegerASigned) |
                             flag(r.InputType(operands.w) == EP_TYPE_INT8, shader::kIntegerBSigned) |
                             flag(r.HasInput(operands.x_zero), shader::kIntegerAZero) |
                             flag(r.HasInput(operands.w_zero), shader::kIntegerBZero) |
                             flag(table, shader::kIntegerTable)};
  dispatch.parameters = {Word(shape.m),
                         Word(shape.n),
                         Word(shape.k),
                         Word(batches),
                         shape.a_batch.Count() == batches ? 1u : 0u,
                         shape.b_batch.Count() == batches ? 1u : 0u,
                         Word(a_zero.matrix),
                         Word(a_zero.item),
                         Word(b_zero.matrix),
                         Word(b_zero.item),
                         0,
                         0,
                         0,
                         0};
  for (int64_t i = 0; table && i < batches; ++i) {
    dispatch.parameters.push_back(Word(shape.OffsetA(i)));
    dispatch.parameters.push_back(Word(shape.OffsetB(i)));
  }
  dispatch.bindings = {r.Read(operands.x), r.Read(operands.w),
                       r.Read(r.HasInput(operands.x_zero) ? operands.x_zero : operands.x),
                       r.Read(r.HasInput(operands.w_zero) ? operands.w_zero : operands.w)};
  dispatch.groups = r.GroupsFor((shape.m + 3) / 4 * ((shape.n + 3) / 4) * batches);
  dispatch.work = static_cast<uint64_t>(shape.y.Count()) * static_cast<uint64_t>(shape.k);
  dispatch.passes = static_cast<uint64_t>(shape.k);
  return dispatch;
}

void RecordMatMulInteger(Recording& r) {
  const kit::ProductShape shape = ShapeOf(r, kIntegerOperands);
  if (HasQuads(r)) return RecordPacked(r, shape, kIntegerOperands, EP_TYPE_INT32);
  const int32_t y = r.Output(0, EP_TYPE_INT32, shape.y);
  if (shape.y.Count() == 0) return;
  Dispatch dispatch = MakeProduct(r, shape, kIntegerOperands);
  dispatch.shader = "matmul_integer.i32";
  dispatch.bindings.push_back(Recording::Write(y));
  r.Add(std::move(dispatch));
}

std::string CheckMatMulInteger(const NodeCheck& check) {
  return kit::Contains(kDeviceBytes, check.InputType(1)) ? "" : "B is neither int8 nor uint8";
}

std::string CheckQLinearMatMul(const NodeCheck& check) {
  for (const size_t i : {size_t{1}, size_t{4}, size_t{6}}) {
    const std::string why = ExpectType(check, i, EP_TYPE_FLOAT, "a scale");
    if (!why.empty()) return why;
  }
  return "";
}

void RecordQLinearMatMul(Recording& r) {
  const kit::ProductShape shape = ShapeOf(r, kQLinearOperands);
  const EpElementType type = r.InputType(7);
  if (HasQuads(r)) return RecordPacked(r, shape, kQLinearOperands, type);
  if (r.node().domain == kit::fuse::kDomain) FailNotPacked();
  const int32_t y = r.Output(0, type, shape.y);
  if (shape.y.Count() == 0) return;
  Dispatch dispatch = MakeProduct(r, shape, kQLinearOperands);
  dispatch.shader = "matmul_integer_requantized";
  if (type == EP_TYPE_INT8) dispatch.specialization[0] |= shader::kIntegerYSigned;
  dispatch.parameters[10] = Word(ParameterStride(r, 1, shape.m, "a_scale", "row"));
  dispatch.parameters[11] = Word(ParameterStride(r, 4, shape.n, "b_scale", "column"));
  dispatch.parameters[12] = Word(ParameterStride(r, 6, shape.m, "y_scale", "row"));
  dispatch.parameters[13] = Word(ParameterStride(r, 7, shape.m, "y_zero_point", "row"));
  dispatch.bindings.insert(dispatch.bindings.end(), {r.Read(1), r.Read(4), r.Read(6), r.Read(7), Recording::Write(y)});
  r.Add(std::move(dispatch));
}

}  // namespace

void Register_integer_matmul(OperatorTable& table) {
  table.Add({.op_type = "MatMulInteger",
             .first_version = 10,
             .types = kDeviceBytes,
             .check = CheckMatMulInteger,
             .pack = Pack<kIntegerOperands>,
             .record = RecordMatMulInteger,
             .bindings = kQuadBindings});
  AddRequantized<CheckQLinearMatMul>(
      table,
      {.op_type = "QLinearMatMul", .pack = Pack<kQLinearOperands>, .record = RecordQLinearMatMul, .bindings = 9});
}

}  // namespace epiphyte::vulkan
