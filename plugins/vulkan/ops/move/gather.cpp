// Gather, GatherElements, GatherND. indices.h says how indices out of range are handled.
#include "epiphyte/kit/shape/gather.hpp"

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/move/indices.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

constexpr uint64_t kMostBytes = 16;
constexpr int64_t kEach = 4;

// Parameters of shaders/gather.comp.
struct GatherRun {
  int64_t outer;
  int64_t tuples;   // index tuples for each outer index
  int64_t size;     // runs that a tuple chooses from
  int64_t run;      // elements of a run
  bool batched;     // each outer index has tuples of its own
  Dims tuple_dims;  // dimensions that the numbers of a tuple are indices of
};

void AddGather(Recording& r, const Dims& dims, const GatherRun& gather) {
  CheckIndexed(r.InputDims(0), dims);
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, dims);
  if (dims.Count() == 0) return;
  const RunUnits units(type, gather.run, kMostBytes);
  const int64_t columns = (units.run + kEach - 1) / kEach;
  const int64_t invocations = gather.outer * gather.tuples * columns;
  std::vector<uint32_t> parameters = {Word(invocations),
                                      Word(units.run),
                                      Word(columns),
                                      Word(gather.tuples),
                                      Word(gather.size),
                                      gather.batched ? 1u : 0u,
                                      IndexWords(r.InputType(1)),
                                      static_cast<uint32_t>(gather.tuple_dims.size())};
  for (int64_t dim : gather.tuple_dims) parameters.push_back(Word(dim));
  // With empty tuples the tensor of indices has no elements and can't be bound. The shader reads no index then, so
  // input 0 is bound instead.
  r.Add({.shader = kit::TextOf("gather.b", units.bytes),
         .specialization = {},
         .parameters = std::move(parameters),
         .bindings = {r.Read(0), r.Read(gather.tuple_dims.empty() ? 0 : 1), Recording::Write(y)},
         .groups = r.GroupsFor(invocations),
         .node = -1,
         .work = 0});
}

void RecordGather(Recording& r) {
  const Dims x = r.InputDims(0), indices = r.InputDims(1);
  const size_t axis = kit::NormalizeAxis(r.node().Int("axis", 0), x.size());
  const Dims dims = kit::GatherDims(x, indices, axis);
  const kit::AxisView view(x, axis);
  if (const HostTensor* known = r.Host(1)) {
    CheckIndices(known, view.size);
    if (known->ints.size() == 1) {  // a slice
      const int64_t at = known->ints[0] < 0 ? known->ints[0] + view.size : known->ints[0];
      const int32_t y = r.Output(0, r.InputType(0), dims);
      if (view.outer * view.inner != 0)
        AddStridedCopy(r, r.InputTensor(0), y,
                       {.dims = {view.outer, view.inner},
                        .from = {view.size * view.inner, 1},
                        .to = {view.inner, 1},
                        .from_offset = at * view.inner,
                        .to_offset = 0});
      return;
    }
  }
  AddGather(r, dims,
            {.outer = view.outer,
             .tuples = indices.Count(),
             .size = view.size,
             .run = view.inner,
             .batched = false,
             .tuple_dims = {view.size}});
}

std::vector<HostTensor> GatherOnHost(const ir::Node& node, HostInputs inputs) {
  const HostTensor& x = *inputs[0];
  const HostTensor& indices = *inputs[1];
  const size_t axis = kit::NormalizeAxis(node.Int("axis", 0), x.dims.size());
  const Dims dims = kit::GatherDims(x.dims, indices.dims, axis);
  if (!FitsHost(dims)) return {};
  const kit::AxisView view(x.dims, axis);
  CheckIndices(&indices, view.size);
  std::vector<int64_t> positions;
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t at : indices.ints)
      for (int64_t inner = 0; inner < view.inner; ++inner)
        positions.push_back((outer * view.size + (at < 0 ? at + view.size : at)) * view.inner + inner);
  return {HostTake(x, dims, positions)};
}

void RecordGatherElements(Recording& r) {
  const Dims x = r.InputDims(0), indices = r.InputDims(1);
  const size_t axis = kit::NormalizeAxis(r.node().Int("axis", 0), x.size());
  kit::CheckGatherElements(x, indices, axis);
  CheckIndexed(x, indices);
  CheckIndices(r.Host(1), x[axis]);
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, indices);
  if (indices.Count() == 0) return;
  Dims from = kit::RowMajorStrides(x);
  const int64_t stride = from[axis];
  from[axis] = 0;
  const kit::StridedBlock block = kit::Simplify(indices, from, kit::RowMajorStrides(indices));
  std::vector<uint32_t> parameters = {Word(indices.Count()), IndexWords(r.InputType(1)), Word(x[axis]), Word(stride),
                                      static_cast<uint32_t>(block.dims.size())};
  for (size_t i = block.dims.size(); i-- > 0;) {
    parameters.push_back(Word(block.dims[i]));
    parameters.push_back(Word(block.from[i]));
  }
  r.Add({.shader = Recording::MoverFor("gather_elements", type),
         .specialization = {},
         .parameters = std::move(parameters),
         .bindings = {r.Read(0), r.Read(1), Recording::Write(y)},
         .groups = r.GroupsFor(indices.Count()),
         .node = -1,
         .work = 0});
}

std::vector<HostTensor> GatherElementsOnHost(const ir::Node& node, HostInputs inputs) {
  const HostTensor& x = *inputs[0];
  const HostTensor& indices = *inputs[1];
  const size_t axis = kit::NormalizeAxis(node.Int("axis", 0), x.dims.size());
  kit::CheckGatherElements(x.dims, indices.dims, axis);
  CheckIndices(&indices, x.dims[axis]);
  Dims from = kit::RowMajorStrides(x.dims);
  const int64_t stride = from[axis];
  from[axis] = 0;
  std::vector<int64_t> positions = StridedPositions(indices.dims, from);
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t at = indices.ints[i];
    positions[i] += (at < 0 ? at + x.dims[axis] : at) * stride;
  }
  return {HostTake(x, indices.dims, positions)};
}

void RecordGatherNd(Recording& r) {
  const Dims x = r.InputDims(0), indices = r.InputDims(1);
  const kit::GatherNdShape shape(x, indices, r.node().Int("batch_dims", 0));
  const int64_t batches = x.Count(0, shape.batch);
  Dims tuple_dims;
  for (size_t k = 0; k < shape.depth; ++k) tuple_dims.push_back(x[shape.batch + k]);
  AddGather(r, shape.dims,
            {.outer = batches,
             .tuples = batches == 0 ? 0 : shape.tuples / batches,
             .size = tuple_dims.Count(),
             .run = shape.run,
             .batched = true,
             .tuple_dims = tuple_dims});
}

}  // namespace

void Register_gather(OperatorTable& table) {
  table.Add({.op_type = "Gather", .types = kMovableTypes, .record = RecordGather, .on_host = GatherOnHost});
  table.Add({.op_type = "GatherElements",
             .types = kMovableTypes,
             .record = RecordGatherElements,
             .on_host = GatherElementsOnHost});
  table.Add({.op_type = "GatherND", .types = kMovableTypes, .record = RecordGatherNd});
}

}  // namespace epiphyte::vulkan
