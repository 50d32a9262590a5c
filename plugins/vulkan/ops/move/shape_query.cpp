// Shape and Size, which report dimensions, and NonZero, which reports positions on the host.
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

void RecordShape(Recording& r) {
  const Dims dims = r.InputDims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  const auto place = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = place(r.node().Int("start", 0)), end = place(r.node().Int("end", INT64_MAX));
  r.OutputOnHost(0, HostVector({dims.begin() + begin, dims.begin() + std::max(begin, end)}));
}

void RecordSize(Recording& r) { r.OutputOnHost(0, HostScalar(EP_TYPE_INT64, r.InputDims(0).Count())); }

// NonZero of a tensor that the host knows. The size of the result depends on the data, so the device can't compute it.
std::vector<HostTensor> NonZeroOnHost(const ir::Node&, HostInputs inputs) {
  const HostTensor& x = *inputs[0];
  const size_t rank = x.dims.size();
  std::vector<int64_t> places;
  for (size_t i = 0; i < static_cast<size_t>(x.Count()); ++i)
    if (x.IsFloat() ? x.floats[i] != 0 : x.ints[i] != 0) places.push_back(static_cast<int64_t>(i));
  HostTensor y{.type = EP_TYPE_INT64,
               .dims = {static_cast<int64_t>(rank), static_cast<int64_t>(places.size())},
               .ints = {},
               .floats = {}};
  if (!FitsHost(y.dims)) return {};
  const Dims strides = kit::RowMajorStrides(x.dims);
  for (size_t axis = 0; axis < rank; ++axis)
    for (int64_t place : places) y.ints.push_back(place / strides[axis] % x.dims[axis]);
  return {std::move(y)};
}

std::string CheckNonZero(const NodeCheck& check) {
  if (!check.OnHost(0)) return "how many elements aren't 0 depends on the data";
  // The result has up to `rank` numbers for each element, which may be more than the host takes.
  const ir::Value& x = check.Input(0);
  if (x.rank <= 1) return "";
  if (!x.IsStatic()) return "how many elements are on the host depends on the data";
  if (const Dims dims(x.dims); !FitsHost({x.rank, dims.Count()}))
    return kit::TextOf("a list of the elements of ", kit::ShapeText(dims), " is more than the host takes");
  return "";
}

void RecordNonZero(Recording& r) {
  kit::FailArgument("input of shape ", kit::ShapeText(r.InputDims(0)), " has more elements that aren't 0 than the host",
                    " lists, or is on the device");
}

}  // namespace

void Register_shape_query(OperatorTable& table) {
  table.Add({.op_type = "Shape", .types = kit::kAnyType, .record = RecordShape, .of_shapes = true});
  table.Add({.op_type = "Size", .types = kit::kAnyType, .record = RecordSize, .of_shapes = true});
  table.Add({.op_type = "NonZero",
             .types = kMovableTypes,
             .check = CheckNonZero,
             .record = RecordNonZero,
             .on_host = NonZeroOnHost});
}

}  // namespace epiphyte::vulkan
