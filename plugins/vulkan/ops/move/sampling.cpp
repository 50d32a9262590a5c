// GridSample and RoiAlign, which read images at positions that the device computes. Positions outside of an image count
// as the operator defines. The result for a region of an image that doesn't exist is 0, and adaptive sampling takes at
// most 1024 samples along each side of a bin. (The CPU plugin reports an error in both cases.)
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/vulkan/ops/move/indices.h"

namespace epiphyte::vulkan {
namespace {

constexpr size_t kMostAxes = 3;

uint32_t SamplingMode(const std::string& mode) {
  if (mode == "linear" || mode == "bilinear") return 0;
  if (mode == "nearest") return 1;
  if (mode == "cubic" || mode == "bicubic") return 2;
  kit::FailArgument("mode '", mode, "' found, linear, nearest or cubic expected");
}

uint32_t PaddingMode(const std::string& mode) {
  if (mode == "zeros") return 0;
  if (mode == "border") return 1;
  if (mode == "reflection") return 2;
  kit::FailArgument("padding_mode '", mode, "' found, zeros, border or reflection expected");
}

std::string CheckGridSample(const NodeCheck& check) {
  SamplingMode(check.node().String("mode", "linear"));
  PaddingMode(check.node().String("padding_mode", "zeros"));
  if (check.InputType(1) != check.InputType(0))
    return kit::TextOf("a grid of ", kit::TypeName(check.InputType(1)), " has no kernel for ",
                       kit::TypeName(check.InputType(0)));
  if (check.Input(0).rank > static_cast<int32_t>(kMostAxes) + 2)
    return kit::TextOf("input has ", check.Input(0).rank, " dimensions, at most ", kMostAxes + 2, " have a kernel");
  return {};
}

void RecordGridSample(Recording& r) {
  const Dims x = r.InputDims(0), grid = r.InputDims(1);
  const size_t axes = x.size() >= 2 ? x.size() - 2 : 0;
  if (axes < 1 || axes > kMostAxes || grid.size() != x.size() || grid[0] != x[0] ||
      grid.back() != static_cast<int64_t>(axes))
    kit::FailArgument("input of shape ", kit::ShapeText(x), " and grid of shape ", kit::ShapeText(grid),
                      " found, [N,C,D1..Dk] and [N,E1..Ek,k] with k from 1 to ", kMostAxes, " expected");
  Dims dims{x[0], x[1]};
  for (size_t i = 0; i < axes; ++i) dims.push_back(grid[i + 1]);
  const int64_t count = kit::CheckedCount(dims);
  if (count != 0 && x.Count(2, x.size()) == 0)
    kit::FailArgument("input of shape ", kit::ShapeText(x), " found, an input with elements expected");
  const int32_t y = r.Output(0, r.InputType(0), dims);
  if (count == 0) return;
  std::vector<uint32_t> parameters = {Word(count), Word(dims.Count(2, dims.size())), Word(x[1]),
                                      static_cast<uint32_t>(axes)};
  for (size_t i = 0; i < axes; ++i) parameters.push_back(Word(x[i + 2]));
  r.Add({.shader = Recording::ShaderFor("grid_sample", r.InputType(0)),
         .specialization = {SamplingMode(r.node().String("mode", "linear")),
                            PaddingMode(r.node().String("padding_mode", "zeros")),
                            r.node().Int("align_corners", 0) != 0 ? 1u : 0u},
         .parameters = std::move(parameters),
         .bindings = {r.Read(0), r.Read(1), Recording::Write(y)},
         .groups = r.GroupsFor(count),
         .node = -1,
         .work = 0});
}

bool IsHalfPixel(const ir::Node& node) {
  const std::string mode =
      node.String("coordinate_transformation_mode", node.since_version < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "half_pixel" && mode != "output_half_pixel")
    kit::FailArgument("coordinate_transformation_mode '", mode, "' found, half_pixel or output_half_pixel expected");
  return mode == "half_pixel";
}

int64_t InRange(const ir::Node& node, std::string_view name, int64_t fallback, int64_t least, int64_t most) {
  const int64_t value = node.Int(name, fallback);
  if (value < least || value > most)
    kit::FailArgument(name, ' ', value, " found, a value in [", least, ", ", most, "] expected");
  return value;
}

void RecordRoiAlign(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0), rois = r.InputDims(1), batches = r.InputDims(2);
  if (x.size() != 4) kit::FailArgument("input of shape ", kit::ShapeText(x), " found, [N,C,H,W] expected");
  if (rois.size() != 2 || rois[1] != 4 || batches.Count() != rois[0])
    kit::FailArgument("rois of shape ", kit::ShapeText(rois), " and batch_indices of shape ", kit::ShapeText(batches),
                      " found, [R,4] and [R] expected");
  const std::string mode = node.String("mode", "avg");
  if (mode != "avg" && mode != "max") kit::FailArgument("mode '", mode, "' found, avg or max expected");
  const int64_t samples = InRange(node, "sampling_ratio", 0, 0, 1024);
  const Dims dims{rois[0], x[1], InRange(node, "output_height", 1, 1, INT32_MAX),
                  InRange(node, "output_width", 1, 1, INT32_MAX)};
  const int64_t count = kit::CheckedCount(dims);
  if (count != 0 && x.Count() == 0)
    kit::FailArgument("input of shape ", kit::ShapeText(x), " found, images with elements expected");
  const int32_t y = r.Output(0, r.InputType(0), dims);
  if (count == 0) return;
  r.Add({.shader = Recording::ShaderFor("roi_align", r.InputType(0)),
         .specialization = {mode == "max" ? 1u : 0u, IsHalfPixel(node) ? 1u : 0u},
         .parameters = {Word(count), Word(x[1]), Word(x[2]), Word(x[3]), Word(dims[2]), Word(dims[3]), Word(x[0]),
                        Word(samples), Word(node.Float("spatial_scale", 1.0f))},
         .bindings = {r.Read(0), r.Read(1), r.Read(2), Recording::Write(y)},
         .groups = r.GroupsFor(count),
         .node = -1,
         .work = static_cast<uint64_t>(count * std::max<int64_t>(samples * samples, 16))});
}

}  // namespace

void Register_sampling(OperatorTable& table) {
  table.Add({.op_type = "GridSample", .check = CheckGridSample, .record = RecordGridSample});
  table.Add({.op_type = "RoiAlign", .record = RecordRoiAlign, .bindings = 4});
}

}  // namespace epiphyte::vulkan
