// Resize and Upsample. With nearest neighbours they are mapped copies. Linear and cubic filters, antialiased or not,
// run over two axes at a time, because all of ONNX's filters are separable.
#include "epiphyte/kit/shape/resize.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/move/mapped_copy.h"

namespace epiphyte::vulkan {
namespace {

using kit::ResizeAttributes;
using kit::ResizeAxis;
using kit::ResizeFilter;
using kit::ResizeTaps;

constexpr uint32_t kNowhere = 0xffffffffu;

std::string CheckResize(const NodeCheck& check) {
  const ResizeAttributes attributes = ResizeAttributes::Read(check.node());
  const EpElementType type = check.InputType(0);
  if (attributes.filter != ResizeFilter::kNearest && !kit::Contains(kDeviceFloats, type))
    return kit::TextOf("filters have no kernel for ", kit::TypeName(type), ", only nearest neighbours");
  if (attributes.extrapolation != 0 && !IsHostType(type))
    return kit::TextOf("an extrapolation value that isn't 0 has no kernel for ", kit::TypeName(type));
  for (size_t input : {attributes.roi_input, attributes.scales_input, attributes.sizes_input})
    if (input != 0)
      if (std::string why = check.NeedsHost(input); !why.empty()) return why;
  return {};
}

std::vector<ResizeAxis> AxesOf(Recording& r, const ResizeAttributes& attributes) {
  const auto given = [&](size_t i) { return i != 0 && r.HasInput(i) && r.InputDims(i).Count() != 0; };
  std::vector<double> roi, scales;
  Dims sizes;
  if (attributes.coordinates == kit::ResizeCoordinates::kTfCropAndResize && given(attributes.roi_input))
    roi = HostNumbers(r.RequireHost(attributes.roi_input));
  if (given(attributes.sizes_input))
    sizes = HostDims(r.RequireHost(attributes.sizes_input), "sizes");
  else if (given(attributes.scales_input))
    scales = HostNumbers(r.RequireHost(attributes.scales_input));
  return attributes.Resolve(r.InputDims(0), {.roi = roi, .scales = scales, .sizes = sizes});
}

void AddNearest(Recording& r, const ResizeAttributes& attributes, const std::vector<ResizeAxis>& axes,
                const Dims& dims) {
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, dims);
  if (dims.Count() == 0) return;  // an empty result may have a long dimension, so no maps are made
  std::vector<AxisMap> maps(axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    if (!axes[i].IsIdentity(attributes.coordinates)) maps[i].positions = kit::NearestMap(axes[i], attributes);
  int32_t outside = -1;
  if (attributes.extrapolation == 0) {
    outside = ZeroOf(r, type);
  } else {
    HostTensor scalar{.type = type, .dims = {}, .ints = {}, .floats = {}};
    HostAppend(scalar, attributes.extrapolation);
    outside = r.Literal(type, Dims{}, BytesOf(scalar).data());
  }
  AddMappedCopy(r, r.InputTensor(0), outside, y, maps);
}

// An axis that is filtered, and the offset of its table in the parameters.
struct FilteredAxis {
  int64_t in = 1;
  int64_t out = 1;
  int64_t taps = 1;
  uint32_t table = 0;
};

FilteredAxis AddTable(std::vector<uint32_t>& parameters, const ResizeAxis& axis, const ResizeTaps& taps) {
  const FilteredAxis filtered{axis.in, axis.out, taps.taps, static_cast<uint32_t>(parameters.size())};
  for (int64_t i = 0; i < axis.out; ++i) {
    const bool outside = !taps.outside.empty() && taps.outside[static_cast<size_t>(i)] != 0;
    for (int64_t t = 0; t < taps.taps; ++t) {
      const auto slot = static_cast<size_t>(i * taps.taps + t);
      parameters.push_back(outside ? kNowhere : Word(taps.indices[slot]));
      parameters.push_back(Word(static_cast<float>(taps.weights[slot])));
    }
  }
  return filtered;
}

// Filters axes a and b, of which a is the outer one, or axis b alone if a == b. `dims` is the shape of `from`.
void AddFilter(Recording& r, const ResizeAttributes& attributes, const std::vector<ResizeAxis>& axes, size_t a,
               size_t b, int32_t from, const Dims& dims, int32_t to) {
  std::vector<uint32_t> parameters(12);
  const FilteredAxis inner_axis = AddTable(parameters, axes[b], kit::MakeResizeTaps(axes[b], attributes));
  FilteredAxis outer_axis;
  if (a != b) {
    outer_axis = AddTable(parameters, axes[a], kit::MakeResizeTaps(axes[a], attributes));
  } else {
    outer_axis.table = static_cast<uint32_t>(parameters.size());
    parameters.push_back(0);
    parameters.push_back(Word(1.0f));
  }
  const int64_t middle = a != b ? dims.Count(a + 1, b) : 1;
  const int64_t count = r.tensor(to).dims.Count();
  const uint32_t head[12] = {Word(count),           Word(dims.Count(b + 1, dims.size())),
                             Word(inner_axis.out),  Word(inner_axis.in),
                             Word(inner_axis.taps), inner_axis.table,
                             Word(middle),          Word(outer_axis.out),
                             Word(outer_axis.in),   Word(outer_axis.taps),
                             outer_axis.table,      Word(attributes.extrapolation)};
  std::copy(std::begin(head), std::end(head), parameters.begin());
  r.Add({.shader = Recording::ShaderFor("resize", r.tensor(to).type),
         .specialization = {},
         .parameters = std::move(parameters),
         .bindings = {Recording::ReadTensor(from), Recording::Write(to)},
         .groups = r.GroupsFor(count),
         .node = -1,
         .work = static_cast<uint64_t>(count * inner_axis.taps * outer_axis.taps)});
}

void AddFilters(Recording& r, const ResizeAttributes& attributes, const std::vector<ResizeAxis>& axes,
                const Dims& dims) {
  std::vector<size_t> filtered;
  for (size_t i = 0; i < axes.size(); ++i)
    if (!axes[i].IsIdentity(attributes.coordinates)) filtered.push_back(i);
  const EpElementType type = r.InputType(0);
  Dims shape = r.InputDims(0);
  int32_t from = r.InputTensor(0);
  for (size_t k = 0; k < filtered.size(); k += 2) {
    const size_t a = filtered[k], b = filtered[std::min(k + 1, filtered.size() - 1)];
    Dims next = shape;
    next[a] = axes[a].out;
    next[b] = axes[b].out;
    const int32_t to = k + 2 >= filtered.size() ? r.Output(0, type, dims) : r.Scratch(type, next);
    if (dims.Count() != 0) AddFilter(r, attributes, axes, a, b, from, shape, to);
    from = to;
    shape = next;
  }
}

void RecordResize(Recording& r) {
  const ResizeAttributes attributes = ResizeAttributes::Read(r.node());
  const std::vector<ResizeAxis> axes = AxesOf(r, attributes);
  const Dims dims = kit::ResizedDims(r.InputDims(0), axes);
  if (std::all_of(axes.begin(), axes.end(),
                  [&](const ResizeAxis& axis) { return axis.IsIdentity(attributes.coordinates); }))
    return r.OutputAs(0, 0, dims);
  if (attributes.filter == ResizeFilter::kNearest)
    AddNearest(r, attributes, axes, dims);
  else
    AddFilters(r, attributes, axes, dims);
}

}  // namespace

void Register_resize(OperatorTable& table) {
  table.Add({.op_type = "Resize",
             .types = kMovableTypes,
             .check = CheckResize,
             .record = RecordResize,
             .host_inputs = 1u << 1 | 1u << 2 | 1u << 3});
  table.Add({.op_type = "Upsample",
             .types = kMovableTypes,
             .check = CheckResize,
             .record = RecordResize,
             .host_inputs = 1u << 1});
}

}  // namespace epiphyte::vulkan
