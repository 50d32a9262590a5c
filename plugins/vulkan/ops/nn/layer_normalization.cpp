// LayerNormalization, RMSNormalization and the kit's SkipNormalization: each row, that is everything from the axis on,
// is normalised by itself.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/nn/normalize.h"
#include "plugins/vulkan/ops/nn/row_norm.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckLayer(const NodeCheck& check) {
  // RMSNormalization allows a scale of another type.
  if (check.InputType(1) != check.InputType(0))
    return kit::TextOf("scale is of ", kit::TypeName(check.InputType(1)), ", the input of ",
                       kit::TypeName(check.InputType(0)), "; equal types expected");
  const ir::Value& x = check.Input(0);
  for (size_t i = 1; i < 3; ++i) {
    if (!check.HasInput(i) || x.rank < 1 || check.Input(i).rank < 0) continue;
    const int64_t axis = check.node().Int("axis", -1);
    const int64_t row = axis < 0 ? -axis : x.rank - axis;
    const std::vector<int64_t>& dims = check.Input(i).dims;
    for (int64_t d = 0; d < check.Input(i).rank - row; ++d)
      if (dims[static_cast<size_t>(d)] != 1) return "scale or bias isn't known to be the same for all rows";
  }
  for (size_t i = 1; i < 3; ++i)
    if (check.HasOutput(i) && check.node().Is("LayerNormalization") && check.Output(i).type != EP_TYPE_FLOAT)
      return kit::TextOf("statistics of ", kit::TypeName(check.Output(i).type), "; float expected");
  return "";
}

RowNorm RowsFrom(const ir::Node& node, const Dims& x, size_t axis) {
  RowNorm norm;
  norm.rows = x.Count(0, axis);
  norm.size = x.Count(axis, x.size());
  norm.epsilon = node.Float("epsilon", 1e-5f);
  return norm;
}

// Scale, and bias where there is one, for a row.
ParameterPlace PlaceOf(Recording& r, const Dims& row, size_t scale, size_t bias) {
  const ParameterPlace place = ParameterPlace::OfRow(r.InputDims(scale), row);
  if (r.HasInput(bias) && !(ParameterPlace::OfRow(r.InputDims(bias), row) == place))
    kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "scale and bias of shapes ", kit::ShapeText(r.InputDims(scale)), " and ",
                  kit::ShapeText(r.InputDims(bias)), "; equal shapes expected by this provider");
  return place;
}

void RecordLayer(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  const size_t axis = kit::NormalizeAxis(node.Int("axis", -1), x.size());
  RowNorm norm = RowsFrom(node, x, axis);
  norm.centred = node.Is("LayerNormalization");
  const size_t bias = norm.centred ? 2 : SIZE_MAX;
  norm.parameters = PlaceOf(r, Dims(std::span<const int64_t>(x).subspan(axis)), 1, bias);
  RowNormTensors tensors;
  tensors.y = r.Output(0, r.InputType(0), x);
  if (norm.centred && (r.HasOutput(1) || r.HasOutput(2))) {
    Dims statistics = x;
    for (size_t i = axis; i < x.size(); ++i) statistics[i] = 1;
    tensors.mean = r.Output(1, EP_TYPE_FLOAT, statistics);
    tensors.inverse = r.Output(2, EP_TYPE_FLOAT, statistics);
  }
  tensors.x = r.InputTensor(0);
  tensors.scale = r.InputTensor(1);
  tensors.bias = r.HasInput(bias) ? r.InputTensor(bias) : -1;
  AddRowNorm(r, norm, tensors);
}

void RecordSkip(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  if (!(r.InputDims(1) == x))
    kit::FailArgument("operands of shapes ", kit::ShapeText(x), " and ", kit::ShapeText(r.InputDims(1)),
                      "; equal shapes expected");
  const size_t axis = kit::NormalizeAxis(node.Int("axis", -1), x.size());
  RowNorm norm = RowsFrom(node, x, axis);
  norm.centred = node.Int("rms", 0) == 0;
  norm.parameters = PlaceOf(r, Dims(std::span<const int64_t>(x).subspan(axis)), 2, 3);
  RowNormTensors tensors;
  const EpElementType type = r.InputType(0);
  tensors.y = r.Output(0, type, x);
  if (r.HasOutput(1)) tensors.sum = r.Output(1, type, x);
  tensors.x = r.InputTensor(0);
  tensors.skip = r.InputTensor(1);
  tensors.scale = r.InputTensor(2);
  tensors.bias = r.HasInput(3) ? r.InputTensor(3) : -1;
  AddRowNorm(r, norm, tensors);
}

}  // namespace

void Register_layer_normalization(OperatorTable& table) {
  for (const char* name : {"LayerNormalization", "RMSNormalization"})
    table.Add({.op_type = name,
               .types = kDeviceFloats,
               .check = CheckLayer,
               .record = RecordLayer,
               .bindings = kRowNormBindings});
  table.Add({.op_type = kit::fuse::kSkipNormalization,
             .domain = kit::fuse::kDomain,
             .types = kDeviceFloats,
             .record = RecordSkip,
             .bindings = kRowNormBindings});
}

}  // namespace epiphyte::vulkan
