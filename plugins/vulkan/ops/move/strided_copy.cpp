#include "plugins/vulkan/ops/move/strided_copy.h"

#include <algorithm>
#include <optional>
#include <string>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/divisor.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

// Elements that one invocation copies.
constexpr int64_t kEach = 4;
// Bytes of the largest unit that shaders move at once.
constexpr uint64_t kMostBytes = 16;

// Throws if strides lead to a position outside of the tensor.
void CheckInside(const Dims& dims, const Dims& strides, int64_t offset, const DeviceTensor& tensor,
                 std::string_view side) {
  int64_t first = offset, last = offset;
  for (size_t i = 0; i < dims.size(); ++i) (strides[i] < 0 ? first : last) += (dims[i] - 1) * strides[i];
  if (first < 0 || last >= tensor.dims.Count())
    kit::FailWith(EP_STATUS_FAIL, "a copy ", side, " elements ", first, " to ", last, " of a tensor of shape ",
                  kit::ShapeText(tensor.dims));
}

bool AllEven(const StridedCopy& copy) {
  const size_t last = copy.dims.size() - 1;
  bool even = copy.from_offset % 2 == 0 && copy.to_offset % 2 == 0 && copy.dims[last] % 2 == 0;
  for (size_t i = 0; i < last; ++i) even = even && copy.from[i] % 2 == 0 && copy.to[i] % 2 == 0;
  return even && copy.from[last] == 1 && copy.to[last] == 1;
}

// Changes the copy to the same one in units of two elements.
void Halve(StridedCopy& copy) {
  const size_t last = copy.dims.size() - 1;
  copy.from_offset /= 2;
  copy.to_offset /= 2;
  copy.dims[last] /= 2;
  for (size_t i = 0; i < last; ++i) {
    copy.from[i] /= 2;
    copy.to[i] /= 2;
  }
}

// A tiled transpose: `near` is the contiguous axis of the source, `far` the contiguous axis of the result. Tiles pay
// off if both are long.
constexpr int64_t kTile = shader::kTransposeTile;
constexpr int64_t kShortestTiled = 16;
struct Transposition {
  size_t near;
  size_t far;
};
std::optional<Transposition> FindTransposition(const StridedCopy& copy) {
  std::optional<size_t> near, far;
  for (size_t i = 0; i < copy.dims.size(); ++i) {
    if (copy.from[i] == 1 && copy.to[i] != 1) near = i;
    if (copy.to[i] == 1 && copy.from[i] != 1) far = i;
  }
  if (!near || !far || std::min(copy.dims[*near], copy.dims[*far]) < kShortestTiled) return std::nullopt;
  return Transposition{*near, *far};
}

// Why the device doesn't transpose in tiles, or "".
std::string WhyNotTiled(const Capabilities& capabilities) {
  if (!capabilities.Has(Capability::kSharedMemory)) return capabilities.WhyNot(Capability::kSharedMemory);
  if (capabilities.max_workgroup_invocations < kTile * shader::kTransposeRows)
    return "workgroups of the device are too small";
  if (capabilities.max_shared_memory < kTile * (kTile + 1) * 8) return "the device has too little workgroup memory";
  return {};
}

void Join(StridedCopy& copy) {
  kit::StridedBlock block = kit::Simplify(copy.dims, copy.from, copy.to);
  copy.dims = std::move(block.dims);
  copy.from = std::move(block.from);
  copy.to = std::move(block.to);
}

void AddTiles(Recording& r, int32_t from, int32_t to, const StridedCopy& units, uint64_t bytes,
              const Transposition& axes) {
  const int64_t near_tiles = (units.dims[axes.near] + kTile - 1) / kTile;
  const int64_t far_tiles = (units.dims[axes.far] + kTile - 1) / kTile;
  const int64_t outer = units.dims.Count() / (units.dims[axes.near] * units.dims[axes.far]);
  const int64_t tiles = near_tiles * far_tiles * outer;
  std::vector<uint32_t> parameters = {Word(tiles),
                                      Word(units.from_offset),
                                      Word(units.to_offset),
                                      Word(units.dims[axes.near]),
                                      Word(units.dims[axes.far]),
                                      Word(units.to[axes.near]),
                                      Word(units.from[axes.far]),
                                      Word(near_tiles),
                                      Word(far_tiles),
                                      static_cast<uint32_t>(units.dims.size() - 2)};
  for (size_t i = units.dims.size(); i-- > 0;) {
    if (i == axes.near || i == axes.far) continue;
    parameters.push_back(Word(units.dims[i]));
    parameters.push_back(Word(units.from[i]));
    parameters.push_back(Word(units.to[i]));
  }
  r.Add({.shader = kit::TextOf("tiled_transpose.b", bytes),
         .specialization = {},
         .parameters = std::move(parameters),
         .bindings = {Recording::ReadTensor(from), Recording::Write(to)},
         .groups = r.GroupsFor(tiles * kLinearGroup),
         .node = -1,
         .work = static_cast<uint64_t>(units.dims.Count())});
}

}  // namespace

void AddStridedCopy(Recording& r, int32_t from, int32_t to, const StridedCopy& copy) {
  for (int64_t dim : copy.dims)
    if (dim == 0) return;
  CheckInside(copy.dims, copy.from, copy.from_offset, r.tensor(from), "of");
  CheckInside(copy.dims, copy.to, copy.to_offset, r.tensor(to), "to");
  StridedCopy units = copy;
  Join(units);
  uint64_t bytes = kit::ElementBytes(r.tensor(from).type, 1);
  for (; bytes < kMostBytes && AllEven(units); bytes *= 2) Halve(units);
  Join(units);

  if (const std::optional<Transposition> axes = FindTransposition(units)) {
    const std::string why = WhyNotTiled(r.capabilities());
    if (why.empty()) return AddTiles(r, from, to, units, bytes, *axes);
    r.Note("strided_copy; not tiled_transpose: " + why);
  }

  const size_t last = units.dims.size() - 1;
  const int64_t columns = (units.dims[last] + kEach - 1) / kEach;
  const int64_t invocations = units.dims.Count(0, last) * columns;
  const Divisor by_columns(columns);
  const bool is_plain = last == 0 && units.from[0] == 1 && units.to[0] == 1 && units.from_offset == 0 &&
                        units.to_offset == 0 && r.tensor(from).bytes == r.tensor(to).bytes;
  std::vector<uint32_t> parameters = {Word(invocations),      Word(units.from_offset),     Word(units.to_offset),
                                      Word(units.dims[last]), Word(units.from[last]),      Word(units.to[last]),
                                      Word(columns),          static_cast<uint32_t>(last), by_columns.multiplier,
                                      by_columns.shift};
  for (size_t i = last; i-- > 0;) {
    const Divisor by_dim(units.dims[i]);
    for (uint32_t word : {Word(units.dims[i]), by_dim.multiplier, by_dim.shift, Word(units.from[i]), Word(units.to[i])})
      parameters.push_back(word);
  }
  r.Add({.shader = kit::TextOf("strided_copy.b", bytes),
         .specialization = {},
         .parameters = std::move(parameters),
         .bindings = {Recording::ReadTensor(from), Recording::Write(to)},
         .groups = r.GroupsFor(invocations),
         .node = -1,
         .work = static_cast<uint64_t>(units.dims.Count()),
         .copies =
             is_plain && units.dims.Count() * static_cast<int64_t>(bytes) == static_cast<int64_t>(r.tensor(to).bytes)});
}

void OutputView(Recording& r, size_t i, int32_t from, const Dims& dims, const Dims& from_strides, int64_t from_offset) {
  const int32_t to = r.Output(i, r.tensor(from).type, dims);
  AddStridedCopy(r, from, to,
                 {.dims = dims,
                  .from = from_strides,
                  .to = kit::RowMajorStrides(dims),
                  .from_offset = from_offset,
                  .to_offset = 0});
}

void AddFill(Recording& r, int32_t value, int32_t to) {
  const Dims dims{r.tensor(to).dims.Count()};
  AddStridedCopy(r, value, to, {.dims = dims, .from = {0}, .to = {1}, .from_offset = 0, .to_offset = 0});
}

}  // namespace epiphyte::vulkan
