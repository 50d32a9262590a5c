// LayerNormalization, RMSNormalization and the kit's SkipNormalization normalise each row by itself. A row has all
// dimensions from the axis on.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/repeat.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/move/strided_copy.h"
#include "plugins/vulkan/ops/nn/normalize.h"
#include "plugins/vulkan/ops/nn/row_norm.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckLayer(const NodeCheck& check) {
  // RMSNormalization allows a scale of another type.
  if (check.InputType(1) != check.InputType(0))
    return kit::TextOf("scale is of ", kit::TypeName(check.InputType(1)), ", the input of ",
                       kit::TypeName(check.InputType(0)), "; equal types expected");
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

struct RowParameters {
  ParameterPlace place;
  int32_t scale = -1;
  int32_t bias = -1;  // -1: none
};

// Input i, broadcast to the dimensions of x in a tensor of its own.
int32_t Repeated(Recording& r, size_t i, const Dims& x) {
  const kit::ExpandShape expand(r.InputDims(i), x);
  if (expand.dims != x)
    kit::FailArgument("scale or bias of shape ", kit::ShapeText(r.InputDims(i)), " does not broadcast to ",
                      kit::ShapeText(x));
  const int32_t repeated = r.Scratch(r.InputType(i), x);
  AddStridedCopy(r, r.InputTensor(i), repeated,
                 {.dims = x, .from = expand.strides, .to = kit::RowMajorStrides(x), .from_offset = 0, .to_offset = 0});
  return repeated;
}

// The scale and bias of a normalisation of x: inputs `scale` and `bias`, of which the bias may be left out. The shader
// takes one ParameterPlace for both. If they have none in common, both are broadcast to x.
RowParameters ParametersOf(Recording& r, const Dims& x, size_t axis, size_t scale, size_t bias) {
  const Dims row(std::span<const int64_t>(x).subspan(axis));
  const std::optional<ParameterPlace> place = ParameterPlace::OfRow(r.InputDims(scale), row);
  if (place && (!r.HasInput(bias) || ParameterPlace::OfRow(r.InputDims(bias), row) == place))
    return {*place, r.InputTensor(scale), r.HasInput(bias) ? r.InputTensor(bias) : -1};
  const int64_t size = row.Count();
  return {{.row_period = x.Count(0, axis), .row_parameters = size, .repeated = 1, .period = size},
          Repeated(r, scale, x),
          r.HasInput(bias) ? Repeated(r, bias, x) : -1};
}

void RecordLayer(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  const size_t axis = kit::NormalizeAxis(node.Int("axis", -1), x.size());
  RowNorm norm = RowsFrom(node, x, axis);
  norm.centred = node.Is("LayerNormalization");
  const size_t bias = norm.centred ? 2 : SIZE_MAX;
  const RowParameters parameters = ParametersOf(r, x, axis, 1, bias);
  norm.parameters = parameters.place;
  RowNormTensors tensors;
  tensors.y = r.Output(0, r.InputType(0), x);
  if (norm.centred && (r.HasOutput(1) || r.HasOutput(2))) {
    Dims statistics = x;
    for (size_t i = axis; i < x.size(); ++i) statistics[i] = 1;
    tensors.mean = r.Output(1, EP_TYPE_FLOAT, statistics);
    tensors.inverse = r.Output(2, EP_TYPE_FLOAT, statistics);
  }
  tensors.x = r.InputTensor(0);
  tensors.scale = parameters.scale;
  tensors.bias = parameters.bias;
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
  const RowParameters parameters = ParametersOf(r, x, axis, 2, 3);
  norm.parameters = parameters.place;
  RowNormTensors tensors;
  const EpElementType type = r.InputType(0);
  tensors.y = r.Output(0, type, x);
  if (r.HasOutput(1)) tensors.sum = r.Output(1, type, x);
  tensors.x = r.InputTensor(0);
  tensors.skip = r.InputTensor(1);
  tensors.scale = parameters.scale;
  tensors.bias = parameters.bias;
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
