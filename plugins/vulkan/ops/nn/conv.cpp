// Conv of one to three dimensions, ONNX's and the kit's, which also adds a residual and applies an activation.
//
// The first dispatch pads the input, unless there is no padding. The second one is one of four kernels: a depthwise one
// for filters of one channel, and three for all others, which use registers alone, tiles in workgroup memory, or
// cooperative matrices.
#include <algorithm>
#include <array>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/activation.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/vulkan/ops/activation_variant.h"
#include "plugins/vulkan/ops/coop_tiles.h"
#include "plugins/vulkan/ops/nn/packed_filters.h"
#include "plugins/vulkan/ops/nn/spatial.h"
#include "plugins/vulkan/ops/workgroup_tiles.h"

namespace epiphyte::vulkan {
namespace {

// Whether the depthwise kernel computes the convolution: filters have one channel, and a channel has fewer than 4
// filters. With more filters a channel, the general kernel reads each element less often.
bool IsDepthwise(const Dims& w, int64_t groups) { return w[1] == 1 && w[0] / groups < 4; }

std::string CheckConv(const NodeCheck& check) { return CheckSpatial(check, 1); }

void PackConv(Packing& packing) {
  const ir::Tensor* w = packing.Constant(1);
  const int64_t groups = packing.node().Int("group", 1);
  if (w == nullptr || w->rank() < 3 || groups < 1 || w->dims[0] % groups != 0 || IsDepthwise(w->dims, groups)) return;
  PackedFilters::OfConv(w->dims, groups).Pack(packing, 1);
}

// The input with its padding, or the input itself if it has none. `size` becomes the size of its planes.
int32_t WithBorder(Recording& r, const kit::ConvolutionShape& shape, std::array<int64_t, 3>* size) {
  const size_t spatial = shape.spatial();
  const std::array<int64_t, 3> in = Spatial3({shape.x.data() + 2, spatial}, 1);
  const std::array<int64_t, 3> before = Spatial3(shape.window.pads_begin, 0);
  std::array<int64_t, 3> out = in;
  // The padded plane ends where the last position reads. Elements behind that are cut off.
  for (size_t d = 0; d < spatial; ++d)
    out[3 - spatial + d] = std::max<int64_t>(
        in[3 - spatial + d] + shape.window.pads_begin[d] + shape.window.PadsEndRead(d, shape.x[d + 2]), 0);
  const bool inside = std::all_of(before.begin(), before.end(), [](int64_t pad) { return pad == 0; }) &&
                      out[0] <= in[0] && out[1] <= in[1] && out[2] <= in[2];
  if (inside) {
    *size = in;
    return r.InputTensor(0);
  }
  *size = out;
  Dims dims{shape.x[0], shape.x[1], out[0], out[1], out[2]};
  const EpElementType type = r.InputType(0);
  const int32_t padded = r.Scratch(type, dims);
  const int64_t pieces = (out[2] + 15) / 16;
  const int64_t planes = shape.x[0] * shape.x[1];
  r.Add({.shader = Recording::MoverFor("conv_border", type),
         .parameters = {Word(planes), Word(in[0]), Word(in[1]), Word(in[2]), Word(out[0]), Word(out[1]), Word(out[2]),
                        Word(before[0]), Word(before[1]), Word(before[2])},
         .bindings = {r.Read(0), Recording::Write(padded)},
         .groups = r.GroupsFor(planes * out[0] * out[1] * pieces),
         .work = static_cast<uint64_t>(dims.Count())});
  return padded;
}

void RecordConv(Recording& r) {
  const ir::Node& node = r.node();
  const kit::ConvolutionShape shape(kit::WindowAttributes::Read(node), r.InputDims(0), r.InputDims(1),
                                    kit::CheckedGroup(node.Int("group", 1)));
  CheckRank(shape.x);
  const bool bias = r.HasInput(2);
  const bool residual = r.HasInput(3);
  if (bias && r.InputDims(2).Count() != shape.filters())
    kit::FailArgument("a bias of ", r.InputDims(2).Count(), " elements for ", shape.filters(), " filters");
  if (residual && !(r.InputDims(3) == shape.y))
    kit::FailArgument("a residual of shape ", kit::ShapeText(r.InputDims(3)), " for a result of shape ",
                      kit::ShapeText(shape.y));
  const kit::fuse::Activation activation = kit::fuse::Activation::Read(node);
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, shape.y);
  if (shape.y.Count() == 0) return;

  std::array<int64_t, 3> size;
  const int32_t x = WithBorder(r, shape, &size);
  const bool depthwise = IsDepthwise(shape.w, shape.group);
  const PackedFilters filters = PackedFilters::OfConv(shape.w, shape.group);
  const int32_t w = depthwise ? r.InputTensor(1) : filters.Tensor(r, 1);

  // The geometry, as shaders/conv.glsl reads it.
  constexpr int64_t kPositions = 8;  // output positions that an invocation computes
  const int64_t blocks = (shape.positions() + kPositions - 1) / kPositions;
  const int64_t plane = size[0] * size[1] * size[2];
  const std::array<int64_t, 3> row = {size[1] * size[2], size[2], 1};
  const auto kernel = Spatial3(shape.window.kernel, 1);
  const auto strides = Spatial3(shape.window.strides, 1);
  const auto dilations = Spatial3(shape.window.dilations, 1);
  const auto out = Spatial3(shape.window.output, 1);
  std::vector<uint32_t> words = {
      Word(shape.x[0]),        Word(shape.group), Word(shape.filters_per_group()), Word(shape.w[1]),
      Word(shape.positions()), Word(blocks),      Word(filters.blocks()),          Word(plane),
      Word(plane * shape.x[1])};
  for (size_t d = 0; d < 3; ++d) words.push_back(Word(kernel[d]));
  for (size_t d = 0; d < 3; ++d) words.push_back(Word(kernel[d] == 1 ? 0 : dilations[d] * row[d]));
  for (size_t d = 0; d < 3; ++d) words.push_back(Word(out[d] == 1 ? 0 : strides[d] * row[d]));
  words.insert(words.end(), {Word(out[1]), Word(out[2]), Word(activation.alpha), Word(activation.beta)});

  const std::string variant = VariantFor(activation.op);
  Dispatch dispatch;
  dispatch.specialization = {static_cast<uint32_t>(activation.op), bias ? 1u : 0u, residual ? 1u : 0u};
  dispatch.parameters = std::move(words);
  // An absent operand is not read, but its binding must be valid.
  dispatch.bindings = {Recording::ReadTensor(x), Recording::ReadTensor(w), bias ? r.Read(2) : Recording::ReadTensor(w),
                       residual ? r.Read(3) : Recording::ReadTensor(w), Recording::Write(y)};
  dispatch.work = static_cast<uint64_t>(shape.y.Count()) * static_cast<uint64_t>(shape.taps() * shape.w[1]);
  const int64_t of_tap = depthwise ? 1 : 1 + shape.w[1];
  dispatch.passes = static_cast<uint64_t>(kernel[0] * (1 + kernel[1] * (1 + kernel[2] * of_tap)));
  if (depthwise) {
    dispatch.shader = Recording::ShaderFor("conv_depthwise" + variant, type);
    dispatch.groups = r.GroupsFor(shape.x[0] * shape.filters() * blocks);
    r.Note("conv_depthwise: filters of one channel");
  } else {
    const Capabilities& capabilities = r.capabilities();
    const int64_t depth = shape.taps() * shape.w[1], products = shape.x[0] * shape.group;
    const WorkgroupTiles tiles(capabilities, shape.filters_per_group(), shape.positions(), depth, products);
    const CoopTiles coop(capabilities, shape.filters_per_group(), shape.positions(), depth, products);
    const std::string why_not =
        capabilities.Has(Capability::kSharedMemory) ? tiles.why_not() : capabilities.WhyNot(Capability::kSharedMemory);
    const std::string why_not_coop = type == EP_TYPE_FLOAT16 ? "; not conv_coop: " + coop.why_not() : "";
    if (type == EP_TYPE_FLOAT16 && coop.why_not().empty()) {
      dispatch.shader = Recording::ShaderFor("conv_coop" + variant, type);
      coop.Complete(&dispatch);
      r.Note(kit::TextOf("conv_coop (", coop.Describe(), ")"));
    } else if (why_not.empty()) {
      dispatch.shader = Recording::ShaderFor("conv_tiled" + variant, type);
      tiles.Complete(&dispatch);
      r.Note(kit::TextOf("conv_tiled (", tiles.Describe(), ")", why_not_coop));
    } else {
      dispatch.shader = Recording::ShaderFor("conv" + variant, type);
      dispatch.groups = r.GroupsFor(shape.x[0] * shape.group * filters.blocks() * blocks);
      r.Note("conv; not conv_tiled: " + why_not + why_not_coop);
    }
  }
  r.Add(std::move(dispatch));
}

}  // namespace

void Register_conv(OperatorTable& table) {
  const Operator conv = {.op_type = "Conv",
                         .types = kDeviceFloats,
                         .check = CheckConv,
                         .pack = PackConv,
                         .record = RecordConv,
                         .bindings = 5};
  table.Add(conv);
  Operator fused = conv;
  fused.domain = kit::fuse::kDomain;
  table.Add(fused);
}

}  // namespace epiphyte::vulkan
