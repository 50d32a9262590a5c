// Trilu, EyeLike and OneHot: triangles of matrices, identity matrices, and one-hot tensors.
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/move/indices.h"
#include "plugins/vulkan/ops/move/mapped_copy.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

void RecordTrilu(Recording& r) {
  const Dims x = r.InputDims(0);
  if (x.size() < 2) kit::FailArgument("input has shape ", kit::ShapeText(x), ", expected a matrix or a batch of them");
  const int64_t rows = x[x.size() - 2], columns = x.back();
  const int64_t diagonal = r.HasInput(1) ? HostInteger(r.RequireHost(1), "k") : 0;
  const int32_t y = r.Output(0, r.InputType(0), x);
  r.Add({.shader = Recording::MoverFor("trilu", r.InputType(0)),
         .specialization = {},
         // A diagonal far outside of the matrix is clamped to just outside, so that the shader's arithmetic can't
         // overflow.
         .parameters = {Word(x.Count()), Word(rows), Word(columns), Word(std::clamp(diagonal, -rows - 1, columns + 1)),
                        r.node().Int("upper", 1) != 0 ? 1u : 0u},
         .bindings = {r.Read(0), Recording::Write(y)},
         .groups = r.GroupsFor(x.Count()),
         .node = -1,
         .work = 0});
}

EpElementType EyeType(const ir::Node& node, EpElementType input) {
  const auto type = static_cast<EpElementType>(node.Int("dtype", EP_TYPE_UNDEFINED));
  return type == EP_TYPE_UNDEFINED ? input : type;
}

std::string CheckEyeLike(const NodeCheck& check) {
  const EpElementType type = EyeType(check.node(), check.InputType(0));
  return IsHostType(type) ? "" : kit::TextOf("there is no kernel for ", kit::TypeName(type));
}

void RecordEyeLike(Recording& r) {
  const Dims x = r.InputDims(0);
  if (x.size() != 2) kit::FailArgument("input has shape ", kit::ShapeText(x), ", expected a matrix");
  const EpElementType type = EyeType(r.node(), r.InputType(0));
  const int64_t rows = x[0], columns = x[1];
  const int64_t diagonal = std::clamp(r.node().Int("k", 0), -rows - 1, columns + 1);
  const int32_t y = r.Output(0, type, x);
  AddFill(r, ZeroOf(r, type), y);
  const int64_t first_row = std::max<int64_t>(0, -diagonal), first_column = std::max<int64_t>(0, diagonal);
  const int64_t count = std::min(rows - first_row, columns - first_column);
  if (count <= 0) return;
  HostTensor one{.type = type, .dims = {}, .ints = {}, .floats = {}};
  HostAppend(one, 1);
  AddStridedCopy(r, r.Literal(type, Dims{}, BytesOf(one).data()), y,
                 {.dims = {count},
                  .from = {0},
                  .to = {columns + 1},
                  .from_offset = 0,
                  .to_offset = first_row * columns + first_column});
}

// UINT64 marks an operator that only moves elements (OnlyMoves in operator.cpp), so that int64 indices, which the
// shader reads as words, need no 64-bit arithmetic. CheckOneHot rejects uint64 itself.
constexpr kit::TypeSet kOneHotIndices = kit::Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_FLOAT, EP_TYPE_UINT64);

std::string CheckOneHot(const NodeCheck& check) {
  if (check.InputType(0) == EP_TYPE_UINT64) return "indices of uint64 have no kernel";
  if (!kit::Contains(kMovableTypes, check.InputType(2)))
    return kit::TextOf("values of ", kit::TypeName(check.InputType(2)), " have no kernel");
  return {};
}

int64_t DepthOf(const HostTensor& tensor) {
  const std::vector<double> numbers = HostNumbers(tensor);
  if (numbers.size() != 1 || !(numbers[0] > -1 && numbers[0] < 0x1p57))
    kit::FailArgument("depth of shape ", kit::ShapeText(tensor.dims), " found, one number of at least 0 expected");
  return static_cast<int64_t>(numbers[0]);
}

void RecordOneHot(Recording& r) {
  const Dims indices = r.InputDims(0);
  const int64_t depth = DepthOf(r.RequireHost(1));
  if (r.InputDims(2).Count() != 2)
    kit::FailArgument("values of shape ", kit::ShapeText(r.InputDims(2)), " found, off and on expected");
  const size_t axis = kit::NormalizeAxis(r.node().Int("axis", -1), indices.size() + 1);
  Dims dims;
  for (size_t i = 0; i <= indices.size(); ++i) dims.push_back(i == axis ? depth : indices[i < axis ? i : i - 1]);
  const int64_t inner = indices.Count(axis, indices.size());
  const EpElementType type = r.InputType(2);
  const int32_t y = r.Output(0, type, dims);
  if (dims.Count() == 0) return;
  r.Add({.shader = Recording::MoverFor("one_hot", type),
         .specialization = {r.InputType(0) == EP_TYPE_FLOAT ? 1u : 0u},
         .parameters = {Word(dims.Count()), Word(depth), Word(inner), IndexWords(r.InputType(0))},
         .bindings = {r.Read(0), r.Read(2), Recording::Write(y)},
         .groups = r.GroupsFor(dims.Count()),
         .node = -1,
         .work = 0});
}

}  // namespace

void Register_patterns(OperatorTable& table) {
  table.Add({.op_type = "Trilu", .types = kMovableTypes, .record = RecordTrilu, .host_inputs = 1u << 1});
  table.Add({.op_type = "EyeLike", .types = kMovableTypes, .check = CheckEyeLike, .record = RecordEyeLike});
  table.Add({.op_type = "OneHot",
             .types = kOneHotIndices,
             .check = CheckOneHot,
             .record = RecordOneHot,
             .host_inputs = 1u << 1});
}

}  // namespace epiphyte::vulkan
