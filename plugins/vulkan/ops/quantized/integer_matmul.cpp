// MatMulInteger and QLinearMatMul: numpy's matmul of 8-bit tensors with zero points.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "plugins/vulkan/ops/quantized/quantization.h"

namespace epiphyte::vulkan {
namespace {

// As in shaders/matmul_integer.comp.
constexpr uint32_t kFlagASigned = 1, kFlagBSigned = 2, kFlagYSigned = 4, kFlagAZero = 8, kFlagBZero = 16,
                   kFlagTable = 32;

// Strides of zero points by matrix and by row or column: there are one, one for each of `size`, or those of each
// matrix.
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

// Which inputs a node has where.
struct Operands {
  size_t a, b, a_zero, b_zero;
};

Dispatch MakeProduct(Recording& r, const kit::ProductShape& shape, const Operands& inputs) {
  const auto flag = [&](bool set, uint32_t bit) { return set ? bit : 0; };
  const ZeroStrides a_zero(r, inputs.a_zero, shape.a_batch.Count(), shape.m, "a_zero_point", "row");
  const ZeroStrides b_zero(r, inputs.b_zero, shape.b_batch.Count(), shape.n, "b_zero_point", "column");
  const int64_t batches = shape.batch.Count();
  const auto is_stride = [&](const Dims& batch) { return batch.Count() == batches || batch.Count() == 1; };
  const bool table = !is_stride(shape.a_batch) || !is_stride(shape.b_batch);
  Dispatch dispatch;
  dispatch.specialization = {flag(r.InputType(inputs.a) == EP_TYPE_INT8, kFlagASigned) |
                             flag(r.InputType(inputs.b) == EP_TYPE_INT8, kFlagBSigned) |
                             flag(r.HasInput(inputs.a_zero), kFlagAZero) | flag(r.HasInput(inputs.b_zero), kFlagBZero) |
                             flag(table, kFlagTable)};
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
  dispatch.bindings = {r.Read(inputs.a), r.Read(inputs.b), r.Read(r.HasInput(inputs.a_zero) ? inputs.a_zero : inputs.a),
                       r.Read(r.HasInput(inputs.b_zero) ? inputs.b_zero : inputs.b)};
  dispatch.groups = r.GroupsFor((shape.m + 3) / 4 * ((shape.n + 3) / 4) * batches);
  dispatch.work = static_cast<uint64_t>(shape.y.Count()) * static_cast<uint64_t>(shape.k);
  return dispatch;
}

void RecordMatMulInteger(Recording& r) {
  const kit::ProductShape shape(r.InputDims(0), r.InputDims(1));
  const int32_t y = r.Output(0, EP_TYPE_INT32, shape.y);
  if (shape.y.Count() == 0) return;
  Dispatch dispatch = MakeProduct(r, shape, {0, 1, 2, 3});
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
  const kit::ProductShape shape(r.InputDims(0), r.InputDims(3));
  const EpElementType type = r.InputType(7);
  const int32_t y = r.Output(0, type, shape.y);
  if (shape.y.Count() == 0) return;
  Dispatch dispatch = MakeProduct(r, shape, {0, 3, 2, 5});
  dispatch.shader = "matmul_integer_requantized";
  if (type == EP_TYPE_INT8) dispatch.specialization[0] |= kFlagYSigned;
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
             .record = RecordMatMulInteger});
  table.Add({.op_type = "QLinearMatMul",
             .first_version = 10,
             .types = kDeviceBytes,
             .check = CheckQLinearMatMul,
             .record = RecordQLinearMatMul});
}

}  // namespace epiphyte::vulkan
