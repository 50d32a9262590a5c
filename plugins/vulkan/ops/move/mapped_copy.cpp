#include "plugins/vulkan/ops/move/mapped_copy.h"

#include <array>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

constexpr int64_t kEach = 4;

struct Axis {
  int64_t dim;
  int64_t stride;  // stride in the source
  const std::vector<int64_t>* map;
};

// Axes of the copy. Neighbouring axes without maps become one.
std::vector<Axis> JoinedAxes(const Dims& from, const Dims& to, const std::vector<AxisMap>& maps) {
  const Dims strides = kit::RowMajorStrides(from);
  std::vector<Axis> axes;
  for (size_t i = 0; i < to.size(); ++i) {
    const std::vector<int64_t>* map = maps[i].positions.empty() ? nullptr : &maps[i].positions;
    const bool joins = map == nullptr && !axes.empty() && axes.back().map == nullptr;
    if (joins)
      axes.back() = {axes.back().dim * to[i], strides[i], nullptr};
    else
      axes.push_back({to[i], strides[i], map});
  }
  if (axes.empty()) axes.push_back({1, 1, nullptr});
  return axes;
}

void CheckMaps(const Dims& from, const Dims& to, const std::vector<AxisMap>& maps) {
  bool fits = from.size() == to.size() && maps.size() == to.size();
  for (size_t i = 0; fits && i < to.size(); ++i) {
    const std::vector<int64_t>& map = maps[i].positions;
    fits = map.empty() ? from[i] == to[i] : map.size() == static_cast<size_t>(to[i]);
    for (int64_t at : map) fits = fits && at >= -1 && at < from[i];
  }
  if (!fits)
    kit::FailWith(EP_STATUS_FAIL, "the maps of a copy from shape ", kit::ShapeText(from), " to ", kit::ShapeText(to),
                  " lead outside of it");
}

}  // namespace

void AddMappedCopy(Recording& r, int32_t from, int32_t fill, int32_t to, const std::vector<AxisMap>& maps) {
  const Dims source = r.tensor(from).dims, target = r.tensor(to).dims;
  if (target.Count() == 0) return;
  if (source.Count() == 0) return AddFill(r, fill, to);
  CheckMaps(source, target, maps);
  const std::vector<Axis> axes = JoinedAxes(source, target, maps);
  const Axis& last = axes.back();
  const int64_t columns = (last.dim + kEach - 1) / kEach;
  const int64_t invocations = target.Count() / last.dim * columns;

  const size_t outer = axes.size() - 1;
  std::vector<uint32_t> parameters(6 + 3 * outer);
  parameters[0] = Word(invocations);
  parameters[1] = Word(last.dim);
  parameters[2] = Word(last.stride);
  parameters[4] = Word(columns);
  parameters[5] = static_cast<uint32_t>(outer);
  const auto add_map = [&](const Axis& axis) -> uint32_t {
    if (axis.map == nullptr) return 0;
    const auto begin = static_cast<uint32_t>(parameters.size());
    for (int64_t at : *axis.map) parameters.push_back(Word(at));
    return begin;
  };
  parameters[3] = add_map(last);
  for (size_t i = 0; i < outer; ++i) {
    const Axis& axis = axes[outer - 1 - i];
    const uint32_t map = add_map(axis);
    parameters[6 + 3 * i] = Word(axis.dim);
    parameters[7 + 3 * i] = Word(axis.stride);
    parameters[8 + 3 * i] = map;
  }
  r.Add({.shader = Recording::MoverFor("mapped_copy", r.tensor(to).type),
         .specialization = {},
         .parameters = std::move(parameters),
         .bindings = {Recording::ReadTensor(from), Recording::ReadTensor(fill), Recording::Write(to)},
         .groups = r.GroupsFor(invocations),
         .node = -1,
         .work = 0});
}

int32_t ZeroOf(Recording& r, EpElementType type) {
  constexpr std::array<std::byte, 16> kZeros{};
  return r.Literal(type, Dims{}, kZeros.data());
}

}  // namespace epiphyte::vulkan
