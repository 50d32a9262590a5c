#include "plugins/npu/graph/lower.h"

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/shape/element_type.hpp"
#include "plugins/npu/client/blob_info.h"
#include "plugins/npu/graph/lookup_table.h"
#include "plugins/npu/graph/rows.h"

namespace epiphyte::npu {
namespace {

struct Row {
  std::string_view op;
  LowerFunction lower;
};

// Rows are sorted by name. Units of operators without a row are declined.
constexpr Row kRows[] = {
    {"Abs", LowerLookup},
    {"Acos", LowerLookup},
    {"Add", LowerBinary},
    {"Asin", LowerLookup},
    {"Atan", LowerLookup},
    {"AveragePool", LowerAveragePool},
    {"Ceil", LowerLookup},
    {"Clip", LowerClamp},
    {"Concat", LowerConcat},
    {"Conv", LowerConv},
    {"ConvTranspose", LowerConvTranspose},
    {"Cos", LowerLookup},
    {"DepthToSpace", LowerDepthSpace},
    {"Div", LowerLookup},
    {"Elu", LowerLookup},
    {"Erf", LowerLookup},
    {"Exp", LowerLookup},
    {"Flatten", LowerReshape},
    {"Floor", LowerLookup},
    {"Gelu", LowerLookup},
    {"Gemm", LowerGemm},
    {"GlobalAveragePool", LowerGlobalAveragePool},
    {"GlobalMaxPool", LowerGlobalMaxPool},
    {"HardSigmoid", LowerLookup},
    {"HardSwish", LowerLookup},
    {"Identity", LowerReshape},
    {"LayerNormalization", LowerLayerNormalization},
    {"LeakyRelu", LowerLookup},
    {"Log", LowerLookup},
    {"MatMul", LowerMatMul},
    {"Max", LowerMaxMin},
    {"MaxPool", LowerMaxPool},
    {"Min", LowerMaxMin},
    {"Mish", LowerLookup},
    {"Mul", LowerBinary},
    {"Neg", LowerLookup},
    {"PRelu", LowerLookup},
    {"Pad", LowerPad},
    {"Pow", LowerLookup},
    {"Reciprocal", LowerLookup},
    {"ReduceMean", LowerReduceMean},
    {"Relu", LowerClamp},
    {"Rescale", LowerRescale},
    {"Reshape", LowerReshape},
    {"Resize", LowerResize},
    {"Round", LowerLookup},
    {"Selu", LowerLookup},
    {"Sigmoid", LowerLookup},
    {"Sign", LowerLookup},
    {"Sin", LowerLookup},
    {"Slice", LowerSlice},
    {"Softmax", LowerSoftmax},
    {"Softplus", LowerLookup},
    {"SpaceToDepth", LowerDepthSpace},
    {"Split", LowerSplit},
    {"Sqrt", LowerLookup},
    {"Squeeze", LowerReshape},
    {"Sub", LowerBinary},
    {"Sum", LowerBinary},
    {"Swish", LowerLookup},
    {"Tan", LowerLookup},
    {"Tanh", LowerLookup},
    {"Transpose", LowerTranspose},
    {"Unsqueeze", LowerReshape},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

LowerFunction FindRow(std::string_view op) {
  const auto row = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  return row != std::end(kRows) && row->op == op ? row->lower : nullptr;
}

constexpr std::string_view kKindNames[] = {
    "",        "conv",      "conv_transpose", "matmul",  "max_pool",   "average_pool", "add",   "sub",
    "mul",     "maximum",   "minimum",        "lookup",  "rescale",    "concat",       "slice", "pad",
    "reshape", "transpose", "resize",         "softmax", "layer_norm", "reduce_mean"};

}  // namespace

std::string_view NameOf(NsdkOpKind kind) { return kKindNames[kind]; }

qdq::Clamp RangeOf(EpElementType type) { return {qdq::LowestOf(type), qdq::HighestOf(type)}; }

qdq::Clamp RangeOf(const QuantizedOp& work) {
  return work.unit.clamp >= 0 ? work.unit.range : RangeOf(work.outputs[0].quantization->type);
}

Scaling ScalingOf(const qdq::Quantization& quantization) {
  if (quantization.block != 0) Refuse("an end of it is quantised in blocks, which the NPU's interface hasn't");
  Scaling scaling;
  for (size_t i = 0; i < quantization.Count(); ++i) {
    scaling.scales.push_back(static_cast<float>(quantization.Scale(i)));
    const bool one_zero = quantization.zero_point.type != EP_TYPE_UNDEFINED && quantization.zero_point.Count() == 1;
    scaling.zero_points.push_back(static_cast<int32_t>(quantization.ZeroPoint(one_zero ? 0 : i)));
  }
  if (!quantization.IsPerTensor()) scaling.axis = static_cast<uint32_t>(quantization.axis);
  return scaling;
}

Lowering::Lowering(const ir::Editor& editor, const Meanings& meanings, const Target& target, ConstantData data,
                   FlatGraph& graph)
    : editor_(editor), meanings_(meanings), target_(target), data_(data), graph_(graph) {}

void Lowering::Add(const QuantizedOp& work) {
  const LowerFunction lower = FindRow(work.op);
  if (lower == nullptr) Refuse("the NPU's interface (nsdk.h) has no ", work.op);
  try {
    lower(*this, work);
  } catch (const kit::Error& error) {
    // The kit throws this for shapes and attributes that don't fit.
    if (error.code() == EP_STATUS_INVALID_ARGUMENT) throw Refused(error.what());
    throw;
  }
}

uint32_t Lowering::Find(int32_t value) const {
  const auto found = of_value_.find(value);
  return found == of_value_.end() || found->second.empty() ? NSDK_NONE : found->second[0].tensor;
}

void Lowering::CheckShape(const ir::Value& value) const {
  if (!value.IsStatic())
    Refuse("the shape of '", value.name,
           "' isn't known before the run, and the NPU compiles for fixed ones: export the model "
           "with fixed dimensions");
  if (value.rank > static_cast<int32_t>(target_.max_rank))
    Refuse("'", value.name, "' has ", value.rank, " dimensions, the NPU takes at most ", target_.max_rank);
  for (const int64_t dim : value.dims)
    if (dim < 1 || dim > target_.max_dimension)
      Refuse("'", value.name, "' has the shape ", kit::ShapeText(value.dims), ", the NPU takes dimensions of 1 to ",
             target_.max_dimension);
}

kit::Dims Lowering::DimsOf(const Operand& operand) const {
  const ir::Value& value = editor_.info(operand.value);
  CheckShape(value);
  return kit::Dims(std::span<const int64_t>(value.dims));
}

std::vector<int64_t> Lowering::Ints(const QuantizedOp& work, size_t input) const {
  const int32_t value = work.inputs[input].value;
  std::optional<std::vector<int64_t>> ints = editor_.Ints(value);
  if (!ints) Refuse("its input ", input, " '", editor_.info(value).name, "' isn't a constant list of integers");
  return *ints;
}

uint32_t Lowering::StoredConstant(const ir::Constant& constant, const Operand& operand) {
  const ir::Value& value = editor_.info(operand.value);
  if (!ir::IsThere(constant)) Refuse("the bytes of '", value.name, "' are gone");
  return graph_.AddConstant(value.name, ToNsdk(value.type), value.dims, ScalingOf(*operand.quantization),
                            gives_data() ? constant.tensor.data : nullptr, constant.tensor.Bytes());
}

uint32_t Lowering::Stored(const Operand& operand) {
  if (operand.value < 0) Refuse("an input or output of it is left out");
  const ir::Value& value = editor_.info(operand.value);
  if (!operand.quantization) Refuse("'", value.name, "' isn't quantised");
  if (ToNsdk(operand.quantization->type) == NSDK_TYPE_NONE || value.type != operand.quantization->type)
    Refuse("'", value.name, "' is ", kit::TypeName(value.type), ", which the NPU's interface hasn't");
  CheckShape(value);
  Scaling scaling = ScalingOf(*operand.quantization);
  std::vector<Known>& all = of_value_[operand.value];
  for (const Known& known : all)
    if (known.scaling == scaling) return known.tensor;
  const ir::Constant* constant = editor_.graph().FindConstant(operand.value);
  if (constant == nullptr) {
    const qdq::Quantization* meaning = meanings_.Of(operand.value);
    if (!all.empty() || (meaning != nullptr && !qdq::SameQuantization(*meaning, *operand.quantization)))
      Refuse("'", value.name, "' is read with one scale or zero point here and made or read with another elsewhere");
  }
  const uint32_t tensor = constant != nullptr ? StoredConstant(*constant, operand)
                                              : graph_.AddTensor(value.name, ToNsdk(value.type), value.dims, scaling);
  all.push_back({tensor, std::move(scaling)});
  return tensor;
}

uint32_t Lowering::Temporary(const Operand& like, std::span<const int64_t> dims) {
  if (dims.size() > target_.max_rank)
    Refuse("a step of it has ", dims.size(), " dimensions, the NPU takes at most ", target_.max_rank);
  return graph_.AddTensor("", ToNsdk(like.quantization->type), dims, ScalingOf(*like.quantization));
}

uint32_t Lowering::Constant(const std::string& name, EpElementType type, std::span<const int64_t> dims, Scaling scaling,
                            const void* data, uint64_t bytes, std::shared_ptr<const void> owner) {
  return graph_.AddConstant(name, ToNsdk(type), dims, std::move(scaling), gives_data() ? data : nullptr, bytes,
                            std::move(owner));
}

FlatGraph::Op& Lowering::Emit(const QuantizedOp& work, NsdkOpKind kind, std::vector<uint32_t> inputs, uint32_t output) {
  const ir::Node& node = NodeOf(work);
  std::string name = node.name;
  if (name.empty() && node.HasOutput(0)) name = editor_.info(node.outputs[0]).name;
  return graph_.AddOp(kind, std::move(name), std::move(inputs), {output});
}

FlatGraph::Op& Lowering::EmitLast(const QuantizedOp& work, NsdkOpKind kind, std::vector<uint32_t> inputs) {
  const Operand& y = work.outputs[0];
  FlatGraph::Op& op = Emit(work, kind, std::move(inputs), Stored(y));
  if (work.unit.clamp >= 0 && !work.unit.range.IsIdle(y.quantization->type))
    op.Ints(NSDK_LOW, {work.unit.range.low}).Ints(NSDK_HIGH, {work.unit.range.high});
  return op;
}

bool Lowering::NeedsTable(const Operand& x, const Operand& y) const {
  const auto fits = [](const Operand& operand) {
    return operand.quantization && qdq::BitsOf(operand.quantization->type) == 8 && operand.quantization->IsPerTensor();
  };
  return target_.Has(NSDK_LOOKUP) && fits(x) && fits(y) && !qdq::SameQuantization(*x.quantization, *y.quantization);
}

void Lowering::EmitTable(const QuantizedOp& work, std::span<const uint8_t, 256> table, const Operand& y, uint32_t from,
                         uint32_t to) {
  const std::shared_ptr<void> owner = kit::AllocateShared(table.size());
  std::memcpy(owner.get(), table.data(), table.size());
  const int64_t dims[] = {static_cast<int64_t>(table.size())};
  const uint32_t constant =
      Constant("", y.quantization->type, dims, ScalingOf(*y.quantization), owner.get(), table.size(), owner);
  Emit(work, NSDK_LOOKUP, {from, constant}, to);
}

void Lowering::EmitRequantisation(const QuantizedOp& work, const Operand& x, const Operand& y, qdq::Clamp range,
                                  uint32_t from, uint32_t to) {
  if (NeedsTable(x, y)) {
    const auto same = [](double number) { return number; };
    return EmitTable(work, MakeTable(same, *x.quantization, *y.quantization, range.low, range.high), y, from, to);
  }
  FlatGraph::Op& op = Emit(work, NSDK_RESCALE, {from}, to);
  if (!range.IsIdle(y.quantization->type)) op.Ints(NSDK_LOW, {range.low}).Ints(NSDK_HIGH, {range.high});
}

uint32_t Lowering::StoredAs(const QuantizedOp& work, const Operand& operand, const Operand& like) {
  const uint32_t stored = Stored(operand);
  if (qdq::SameQuantization(*operand.quantization, *like.quantization)) return stored;
  const uint32_t requantised = Temporary(like, DimsOf(operand));
  EmitRequantisation(work, operand, like, RangeOf(like.quantization->type), stored, requantised);
  return requantised;
}

uint32_t Lowering::MovedAs(const QuantizedOp& work, const Operand& operand, const Operand& like) {
  return NeedsTable(operand, like) ? StoredAs(work, operand, like) : Stored(operand);
}

}  // namespace epiphyte::npu
