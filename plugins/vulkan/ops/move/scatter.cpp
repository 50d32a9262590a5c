// Scatter, ScatterElements and ScatterND: a copy of the data in which updates replace some elements or are combined
// with them, in the order of the updates. indices.h says how indices out of range are handled.
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/scatter.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/move/indices.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

constexpr kit::TypeSet kCombinedTypes = kit::Types(EP_TYPE_FLOAT, EP_TYPE_FLOAT16, EP_TYPE_INT32, EP_TYPE_INT64,
                                                   EP_TYPE_INT8, EP_TYPE_UINT8, EP_TYPE_UINT32);

std::string CheckScatter(const NodeCheck& check) {
  const kit::ScatterReduction reduction = kit::ScatterReductionOf(check.node().String("reduction", "none"));
  if (reduction == kit::ScatterReduction::kNone) return {};
  const EpElementType type = check.InputType(0);
  if (!kit::Contains(kCombinedTypes, type))
    return kit::TextOf("a reduction while scattering has no kernel for ", kit::TypeName(type));
  if (type == EP_TYPE_INT64 && !check.capabilities().Has(Capability::kInt64))
    return check.capabilities().WhyNot(Capability::kInt64);
  return {};
}

// Parameters of shaders/scatter.comp.
struct ScatterWalk {
  int64_t count;        // updates of each line
  int64_t index_step;   // step from one update to the next in indices
  int64_t update_step;  // step from one update to the next in updates
  int64_t places;       // number of places of a line that tuples choose from
  int64_t place_step;   // elements from one place to the next
  Dims tuple_dims;      // dimensions that the numbers of a tuple are indices of
  Dims lines;           // sizes of the axes of the lines
  Dims line_to;         // strides of these axes in the result
  Dims line_from;       // strides of these axes in updates
  Dims line_index;      // strides of these axes in indices
};

// Parts of a line. Few lines are divided, so that more than a few invocations have work. Each invocation reads all
// indices of its line, which pays off where reads are cheap and the device runs many invocations.
int64_t PartsOf(const Recording& r, const ScatterWalk& walk) {
  const int64_t wanted = r.capabilities().Has(Capability::kSharedMemory) ? 4096 : 16;
  return std::clamp<int64_t>(wanted / walk.lines.Count(), 1, std::max<int64_t>(walk.places, 1));
}

// The input that is bound as indices. With empty tuples the indices have no elements and can't be bound. The shader
// reads no index then, so the updates are bound instead.
size_t IndicesInput(const Dims& tuple_dims) { return tuple_dims.empty() ? 2 : 1; }

void AddScatter(Recording& r, kit::ScatterReduction reduction, const ScatterWalk& walk) {
  const Dims dims = r.InputDims(0);
  const EpElementType type = r.InputType(0);
  if (r.InputDims(2).Count() == 0) return r.OutputAs(0, 0, dims);
  CheckIndexed(dims, r.InputDims(2));
  const int32_t y = r.Output(0, type, dims);
  const Dims all{dims.Count()};
  AddStridedCopy(r, r.InputTensor(0), y, {.dims = all, .from = {1}, .to = {1}, .from_offset = 0, .to_offset = 0});

  const int64_t parts = PartsOf(r, walk);
  const int64_t invocations = walk.lines.Count() * parts;
  std::vector<uint32_t> parameters = {Word(invocations),
                                      Word(parts),
                                      Word((walk.places + parts - 1) / parts),
                                      Word(walk.count),
                                      static_cast<uint32_t>(walk.tuple_dims.size()),
                                      IndexWords(r.InputType(1)),
                                      Word(walk.index_step),
                                      Word(walk.update_step),
                                      Word(walk.place_step),
                                      static_cast<uint32_t>(walk.lines.size())};
  for (int64_t dim : walk.tuple_dims) parameters.push_back(Word(dim));
  for (size_t i = walk.lines.size(); i-- > 0;)
    for (const Dims* dims_of : {&walk.lines, &walk.line_to, &walk.line_from, &walk.line_index})
      parameters.push_back(Word((*dims_of)[i]));
  const bool combines = reduction != kit::ScatterReduction::kNone;
  r.Add({.shader = combines ? Recording::ShaderFor("scatter", type) : Recording::MoverFor("scatter", type),
         .specialization = {static_cast<uint32_t>(reduction)},
         .parameters = std::move(parameters),
         .bindings = {r.Read(IndicesInput(walk.tuple_dims)), r.Read(2), Recording::ReadWrite(y)},
         .groups = r.GroupsFor(invocations),
         .node = -1,
         .work = static_cast<uint64_t>(invocations) * static_cast<uint64_t>(walk.count),
         .passes = static_cast<uint64_t>(walk.count) * (1 + walk.tuple_dims.size())});
}

kit::ScatterReduction ReductionOf(const ir::Node& node) {
  return kit::ScatterReductionOf(node.String("reduction", "none"));
}

void RecordScatterElements(Recording& r) {
  const Dims data = r.InputDims(0), indices = r.InputDims(1);
  const size_t axis = kit::NormalizeAxis(r.node().Int("axis", 0), data.size());
  kit::CheckScatterElements(data, indices, r.InputDims(2), axis);
  CheckIndices(r.Host(1), data[axis]);
  const Dims to = kit::RowMajorStrides(data), from = kit::RowMajorStrides(indices);
  ScatterWalk walk{.count = indices[axis],
                   .index_step = from[axis],
                   .update_step = from[axis],
                   .places = data[axis],
                   .place_step = to[axis],
                   .tuple_dims = {data[axis]},
                   .lines = {},
                   .line_to = {},
                   .line_from = {},
                   .line_index = {}};
  for (size_t i = 0; i < data.size(); ++i) {
    if (i == axis || indices[i] == 1) continue;
    walk.lines.push_back(indices[i]);
    walk.line_to.push_back(to[i]);
    walk.line_from.push_back(from[i]);
    walk.line_index.push_back(from[i]);
  }
  AddScatter(r, ReductionOf(r.node()), walk);
}

void RecordScatterNd(Recording& r) {
  const Dims data = r.InputDims(0), indices = r.InputDims(1);
  const kit::ScatterNdShape shape(data, indices, r.InputDims(2));
  Dims tuple_dims;
  for (size_t k = 0; k < shape.depth; ++k) tuple_dims.push_back(data[k]);
  if (const HostTensor* known = r.Host(1); known != nullptr && shape.depth != 0)
    for (size_t i = 0; i < known->ints.size(); ++i) CheckIndex(known->ints[i], tuple_dims[i % shape.depth]);
  AddScatter(r, ReductionOf(r.node()),
             {.count = shape.tuples,
              .index_step = static_cast<int64_t>(shape.depth),
              .update_step = shape.run,
              .places = tuple_dims.Count(),
              .place_step = shape.run,
              .tuple_dims = tuple_dims,
              .lines = {shape.run},
              .line_to = {1},
              .line_from = {1},
              .line_index = {0}});
}

// --- On the host: updates only replace elements, as shape computations need it.

std::vector<HostTensor> Replace(const HostTensor& data, const HostTensor& updates, const std::vector<int64_t>& places) {
  HostTensor y = data;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]);
    if (y.IsFloat())
      y.floats[place] = updates.floats[i];
    else
      y.ints[place] = updates.ints[i];
  }
  return {std::move(y)};
}

std::vector<HostTensor> ScatterElementsOnHost(const ir::Node& node, HostInputs inputs) {
  if (ReductionOf(node) != kit::ScatterReduction::kNone) return {};
  const HostTensor& data = *inputs[0];
  const HostTensor& indices = *inputs[1];
  const size_t axis = kit::NormalizeAxis(node.Int("axis", 0), data.dims.size());
  kit::CheckScatterElements(data.dims, indices.dims, inputs[2]->dims, axis);
  CheckIndices(&indices, data.dims[axis]);
  Dims to = kit::RowMajorStrides(data.dims);
  const int64_t step = to[axis];
  to[axis] = 0;
  std::vector<int64_t> places = StridedPositions(indices.dims, to);
  for (size_t i = 0; i < places.size(); ++i)
    places[i] += (indices.ints[i] < 0 ? indices.ints[i] + data.dims[axis] : indices.ints[i]) * step;
  return Replace(data, *inputs[2], places);
}

std::vector<HostTensor> ScatterNdOnHost(const ir::Node& node, HostInputs inputs) {
  if (ReductionOf(node) != kit::ScatterReduction::kNone) return {};
  const HostTensor& data = *inputs[0];
  const kit::ScatterNdShape shape(data.dims, inputs[1]->dims, inputs[2]->dims);
  const Dims strides = kit::RowMajorStrides(data.dims);
  std::vector<int64_t> places;
  for (int64_t t = 0; t < shape.tuples; ++t) {
    int64_t begin = 0;
    for (size_t k = 0; k < shape.depth; ++k) {
      const int64_t at = inputs[1]->ints[static_cast<size_t>(t) * shape.depth + k];
      CheckIndex(at, data.dims[k]);
      begin += (at < 0 ? at + data.dims[k] : at) * strides[k];
    }
    for (int64_t i = 0; i < shape.run; ++i) places.push_back(begin + i);
  }
  return Replace(data, *inputs[2], places);
}

}  // namespace

void Register_scatter(OperatorTable& table) {
  for (std::string_view op_type : {"Scatter", "ScatterElements"})
    table.Add({.op_type = op_type,
               .types = kMovableTypes,
               .check = CheckScatter,
               .record = RecordScatterElements,
               .on_host = ScatterElementsOnHost,
               .in_place = true});
  table.Add({.op_type = "ScatterND",
             .types = kMovableTypes,
             .check = CheckScatter,
             .record = RecordScatterNd,
             .on_host = ScatterNdOnHost,
             .in_place = true});
}

}  // namespace epiphyte::vulkan
