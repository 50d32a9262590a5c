// ConvTranspose of one to three dimensions.
#include <algorithm>
#include <array>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/vulkan/ops/nn/packed_filters.h"
#include "plugins/vulkan/ops/nn/spatial.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckConvTranspose(const NodeCheck& check) { return CheckSpatial(check, 1); }

void PackConvTranspose(Packing& packing) {
  const ir::Tensor* w = packing.Constant(1);
  const int64_t groups = packing.node().Int("group", 1);
  if (w == nullptr || w->rank() < 3 || groups < 1 || w->dims[0] % groups != 0) return;
  PackedFilters::OfConvTranspose(w->dims, groups).Pack(packing, 1);
}

// Throws if positions don't fit the shader's signed 32-bit integers.
void CheckRange(const kit::TransposedConvolutionShape& shape) {
  constexpr int64_t kMost = 1 << 30;
  for (size_t d = 0; d < shape.strides.size(); ++d) {
    const int64_t covered = shape.strides[d] * (shape.x[d + 2] + 4);
    const int64_t extent = shape.dilations[d] * shape.w[d + 2];
    if (covered > kMost || extent > kMost || shape.pads_begin[d] > kMost || shape.pads_begin[d] < -kMost ||
        shape.y[d + 2] > kMost)
      kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "strides of ", kit::ShapeText(shape.strides), ", dilations of ",
                    kit::ShapeText(shape.dilations), " and pads of ", kit::ShapeText(shape.pads_begin),
                    " reach further than 2^30 elements, which this provider can't count");
  }
}

void RecordConvTranspose(Recording& r) {
  const auto attributes = kit::TransposedConvolutionAttributes::Read(r.node());
  const kit::TransposedConvolutionShape shape(attributes, r.InputDims(0), r.InputDims(1));
  CheckRank(shape.x);
  CheckRange(shape);
  const bool bias = r.HasInput(2);
  if (bias && r.InputDims(2).Count() != shape.y[1])
    kit::FailArgument("a bias of ", r.InputDims(2).Count(), " elements for ", shape.y[1], " filters");
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, shape.y);
  if (shape.y.Count() == 0) return;
  const PackedFilters filters = PackedFilters::OfConvTranspose(shape.w, attributes.group);
  const int32_t w = filters.Tensor(r, 1);

  const auto spatial = [](const Dims& dims) { return std::span<const int64_t>(dims).subspan(2); };
  const auto in = Spatial3(spatial(shape.x), 1);
  const auto out = Spatial3(spatial(shape.y), 1);
  const auto kernel = Spatial3(spatial(shape.w), 1);
  const auto strides = Spatial3(shape.strides, 1);
  const auto dilations = Spatial3(shape.dilations, 1);
  const auto before = Spatial3(shape.pads_begin, 0);
  // Pieces of an output row. A row has runs of 4 strides, and a run has a piece for each position within a stride.
  const int64_t run = 4 * strides[2];
  const int64_t pieces = (out[2] + run - 1) / run * std::min(strides[2], out[2]);
  std::vector<uint32_t> words = {Word(shape.x[0]),       Word(attributes.group), Word(filters.filters),
                                 Word(filters.channels), Word(filters.blocks()), Word(pieces)};
  for (const auto& three : {in, out, kernel, strides, dilations, before})
    for (const int64_t number : three) words.push_back(Word(number));
  const uint64_t work =
      static_cast<uint64_t>(shape.x.Count()) * static_cast<uint64_t>(shape.w.Count(1, shape.w.size()));
  r.Add({.shader = Recording::ShaderFor("conv_transpose", type),
         .specialization = {bias ? 1u : 0u},
         .parameters = std::move(words),
         .bindings = {r.Read(0), Recording::ReadTensor(w), bias ? r.Read(2) : Recording::ReadTensor(w),
                      Recording::Write(y)},
         .groups = r.GroupsFor(shape.x[0] * attributes.group * filters.blocks() * out[0] * out[1] * pieces),
         .work = work,
         .passes =
             static_cast<uint64_t>(kernel[0] * kernel[1] * kernel[2]) * static_cast<uint64_t>(filters.channels + 3)});
}

}  // namespace

void Register_conv_transpose(OperatorTable& table) {
  table.Add({.op_type = "ConvTranspose",
             .types = kDeviceFloats,
             .check = CheckConvTranspose,
             .pack = PackConvTranspose,
             .record = RecordConvTranspose,
             .bindings = 4});
}

}  // namespace epiphyte::vulkan
