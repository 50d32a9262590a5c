// ConvInteger and QLinearConv: convolutions of 8-bit tensors with zero points, in up to three dimensions. The kit's
// QLinearConv also clamps its result. Constant weights are packed (quads.h).
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/vulkan/ops/nn/spatial.h"
#include "plugins/vulkan/ops/quantized/quads.h"
#include "plugins/vulkan/ops/quantized/quantization.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

// Largest size and attribute of a window. The shaders compute positions in 32 bits.
constexpr int64_t kMostOfWindow = int64_t{1} << 29;

kit::ConvolutionShape ShapeOf(const Recording& r, const ProductOperands& inputs) {
  const ir::Node& node = r.node();
  return kit::ConvolutionShape(kit::WindowAttributes::Read(node), r.InputDims(inputs.x), r.InputDims(inputs.w),
                               kit::CheckedGroup(node.Int("group", 1)));
}

Dispatch MakeConvolution(Recording& r, const kit::ConvolutionShape& shape, const ProductOperands& inputs) {
  const auto flag = [&](bool set, uint32_t bit) { return set ? bit : 0; };
  Dispatch dispatch;
  dispatch.specialization = {flag(r.InputType(inputs.x) == EP_TYPE_INT8, shader::kConvXSigned) |
                             flag(r.InputType(inputs.w) == EP_TYPE_INT8, shader::kConvWSigned) |
                             flag(r.HasInput(inputs.x_zero), shader::kConvXZero) |
                             flag(r.HasInput(inputs.w_zero), shader::kConvWZero)};
  if (r.HasInput(inputs.x_zero) && r.InputDims(inputs.x_zero).Count() != 1)
    kit::FailArgument("x_zero_point has ", r.InputDims(inputs.x_zero).Count(), " elements, expected one");
  const int64_t w_zero_stride =
      r.HasInput(inputs.w_zero) ? ParameterStride(r, inputs.w_zero, shape.filters(), "w_zero_point", "filter") : 0;
  // An invocation computes four filters.
  const int64_t invocations = shape.positions() * ((shape.filters_per_group() + 3) / 4) * shape.group * shape.x[0];
  dispatch.parameters = {Word(invocations),
                         Word(shape.x[1]),
                         Word(shape.filters()),
                         Word(shape.in_per_group()),
                         Word(shape.filters_per_group()),
                         Word(w_zero_stride),
                         0};
  // If the convolution has fewer than three dimensions, the missing ones come first and have the value `absent`.
  const size_t missing = 3 - shape.spatial();
  const auto add = [&](int64_t absent, const auto& of) {
    for (size_t d = 0; d < 3; ++d) {
      const int64_t value = d < missing ? absent : of(d - missing);
      if (value > kMostOfWindow) kit::FailArgument("a window's attribute is ", value, "; at most ", kMostOfWindow);
      dispatch.parameters.push_back(Word(value));
    }
  };
  const kit::Window& window = shape.window;
  add(1, [&](size_t d) { return shape.x[d + 2]; });
  add(1, [&](size_t d) { return window.output[d]; });
  add(1, [&](size_t d) { return window.kernel[d]; });
  add(1, [&](size_t d) { return window.output[d] == 1 ? 1 : window.strides[d]; });
  add(1, [&](size_t d) { return window.kernel[d] == 1 ? 1 : window.dilations[d]; });
  add(0, [&](size_t d) { return window.pads_begin[d]; });
  dispatch.bindings = {r.Read(inputs.x), r.Read(inputs.w), r.Read(r.HasInput(inputs.x_zero) ? inputs.x_zero : inputs.x),
                       r.Read(r.HasInput(inputs.w_zero) ? inputs.w_zero : inputs.w)};
  dispatch.groups = r.GroupsFor(invocations);
  dispatch.work = static_cast<uint64_t>(shape.y.Count()) * static_cast<uint64_t>(shape.in_per_group() * shape.taps());
  dispatch.passes = static_cast<uint64_t>(shape.in_per_group()) * static_cast<uint64_t>(3 * shape.taps() + 1);
  return dispatch;
}

std::string CheckConvolution(const NodeCheck& check) { return CheckSpatial(check); }

template <const ProductOperands& kOperands>
void Pack(Packing& packing) {
  const ir::Tensor* w = packing.Constant(kOperands.w);
  const int64_t groups = packing.node().Int("group", 1);
  if (w == nullptr || w->rank() < 3 || groups < 1 || w->dims[0] % groups != 0) return;
  PackQuads(packing, kOperands, PackedFilters::OfConv(w->dims, groups));
}

void RecordPacked(Recording& r, const kit::ConvolutionShape& shape, const ProductOperands& operands,
                  EpElementType type) {
  const kit::Window& window = shape.window;
  QuadProduct product;
  product.operands = operands;
  product.filters = PackedFilters::OfConv(shape.w, shape.group);
  product.images = shape.x[0];
  product.in = Spatial3({shape.x.data() + 2, shape.spatial()}, 1);
  product.before = Spatial3(window.pads_begin, 0);
  product.padded = product.in;
  for (size_t d = 0; d < shape.spatial(); ++d) {
    const size_t at = 3 - shape.spatial() + d;
    const int64_t size = product.in[at] + window.pads_begin[d] + window.PadsEndRead(d, shape.x[d + 2]);
    if (size > kMostOfWindow)
      kit::FailArgument("a plane with its padding has ", size, " elements; at most ", kMostOfWindow);
    product.padded[at] = std::max<int64_t>(size, 0);
  }
  product.kernel = Spatial3(window.kernel, 1);
  product.out = Spatial3(window.output, 1);
  product.dilations = Spatial3(window.dilations, 1);
  product.strides = Spatial3(window.strides, 1);
  // A dimension of size 1 gets step 0: there is no next element.
  for (size_t d = 0; d < 3; ++d) {
    if (product.kernel[d] == 1) product.dilations[d] = 0;
    if (product.out[d] == 1) product.strides[d] = 0;
  }
  product.y_type = type;
  product.y = shape.y;
  RecordQuads(r, product);
}

void RecordConvInteger(Recording& r) {
  const ProductOperands& inputs = kIntegerOperands;
  const kit::ConvolutionShape shape = ShapeOf(r, inputs);
  if (HasQuads(r)) return RecordPacked(r, shape, inputs, EP_TYPE_INT32);
  const int32_t y = r.Output(0, EP_TYPE_INT32, shape.y);
  if (shape.y.Count() == 0) return;
  Dispatch dispatch = MakeConvolution(r, shape, inputs);
  dispatch.shader = "conv_integer.i32";
  dispatch.bindings.push_back(Recording::Write(y));
  r.Add(std::move(dispatch));
}

void RecordQLinearConv(Recording& r) {
  const ProductOperands& inputs = kQLinearOperands;
  const kit::ConvolutionShape shape = ShapeOf(r, inputs);
  const EpElementType type = r.InputType(7);
  if (HasQuads(r)) return RecordPacked(r, shape, inputs, type);
  if (r.node().domain == kit::fuse::kDomain) FailNotPacked();
  for (const size_t i : {size_t{1}, size_t{6}, size_t{7}})
    if (r.InputDims(i).Count() != 1)
      kit::FailArgument("input ", i, " has ", r.InputDims(i).Count(), " elements, expected one");
  const bool has_bias = r.HasInput(8);
  if (has_bias && r.InputDims(8).Count() != shape.filters())
    kit::FailArgument("bias has ", r.InputDims(8).Count(), " elements, expected ", shape.filters());
  const int32_t y = r.Output(0, type, shape.y);
  if (shape.y.Count() == 0) return;
  Dispatch dispatch = MakeConvolution(r, shape, inputs);
  dispatch.shader = "conv_integer_requantized";
  dispatch.specialization[0] |= (type == EP_TYPE_INT8 ? shader::kConvYSigned : 0) | (has_bias ? shader::kConvBias : 0);
  dispatch.parameters[6] = Word(ParameterStride(r, 4, shape.filters(), "w_scale", "filter"));
  dispatch.bindings.insert(dispatch.bindings.end(),
                           {r.Read(1), r.Read(4), r.Read(6), r.Read(7), r.Read(has_bias ? 8 : 1), Recording::Write(y)});
  r.Add(std::move(dispatch));
}

}  // namespace

void Register_integer_conv(OperatorTable& table) {
  table.Add({.op_type = "ConvInteger",
             .first_version = 10,
             .types = kDeviceBytes,
             .check = CheckConvolution,
             .pack = Pack<kIntegerOperands>,
             .record = RecordConvInteger,
             .bindings = kQuadBindings});
  AddRequantized<CheckConvolution>(
      table, {.op_type = "QLinearConv", .pack = Pack<kQLinearOperands>, .record = RecordQLinearConv, .bindings = 10});
}

}  // namespace epiphyte::vulkan
