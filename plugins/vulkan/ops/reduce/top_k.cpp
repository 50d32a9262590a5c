// TopK of all versions. k is an attribute in the first version and an input in later ones.
#include <bit>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

// Largest size of the axis for which comparing each element with all others takes less than sorting.
constexpr int64_t kMostRanked = 1024;

struct TopK {
  kit::AxisView view;
  int64_t k;
  uint32_t largest;
  int32_t values, indices;

  int64_t lines() const { return view.outer * view.inner; }
};

void AddRank(Recording& r, const TopK& top) {
  const int64_t count = top.lines() * top.view.size;
  r.Add({.shader = Recording::ShaderFor("top_k_rank", r.InputType(0)),
         .specialization = {top.largest},
         .parameters = {Word(top.view.outer), Word(top.view.size), Word(top.view.inner), Word(top.k)},
         .bindings = {r.Read(0), Recording::Write(top.values), Recording::Write(top.indices)},
         .groups = r.GroupsFor(count),
         .work = static_cast<uint64_t>(count) * static_cast<uint64_t>(top.view.size)});
}

void AddSort(Recording& r, const TopK& top) {
  const auto width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(top.view.size)));
  const int32_t places = r.Scratch(EP_TYPE_UINT32, {top.lines(), width});
  const auto step = [&](uint32_t kind, int64_t block, int64_t distance, int64_t count) {
    r.Add({.shader = Recording::ShaderFor("top_k_sort", r.InputType(0)),
           .specialization = {top.largest, kind},
           .parameters = {Word(top.view.outer), Word(top.view.size), Word(top.view.inner), Word(top.k), Word(width),
                          Word(block), Word(distance)},
           .bindings = {r.Read(0), kind == 0 ? Recording::Write(places) : Recording::ReadWrite(places),
                        Recording::Write(top.values), Recording::Write(top.indices)},
           .groups = r.GroupsFor(count),
           .work = static_cast<uint64_t>(count)});
  };
  step(0, 0, 0, top.lines() * width);
  for (int64_t block = 2; block <= width; block *= 2)
    for (int64_t distance = block / 2; distance >= 1; distance /= 2) step(1, block, distance, top.lines() * width / 2);
  step(2, 0, 0, top.lines() * top.k);
}

void RecordTopK(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  const size_t axis = kit::NormalizeAxis(node.Int("axis", -1), x.size());
  const int64_t k = node.since_version < 10 ? node.Int("k", 0) : HostInteger(r.RequireHost(1), "K");
  if (k < 0 || k > x[axis])
    kit::FailArgument("K ", k, " found for a dimension of ", x[axis], ", a value in [0, ", x[axis], "] expected");
  Dims dims = x;
  dims[axis] = k;
  const EpElementType type = r.InputType(0);
  TopK top = {kit::AxisView(x, axis), k, node.Int("largest", 1) != 0 ? 1u : 0u, -1, -1};
  top.values = r.Output(0, type, dims);
  top.indices = r.Output(1, EP_TYPE_INT64, dims);
  if (dims.Count() == 0) return;
  if (top.view.size <= kMostRanked) {
    AddRank(r, top);
  } else {
    AddSort(r, top);
  }
}

}  // namespace

void Register_top_k(OperatorTable& table) {
  constexpr kit::TypeSet kTypes = kDeviceFloats | kDeviceIntegers;
  table.Add({.op_type = "TopK", .types = kTypes, .record = RecordTopK, .host_inputs = 1u << 1, .bindings = 4});
}

}  // namespace epiphyte::vulkan
