// Clip. Its bounds are attributes before opset 11, and since then optional inputs, which may be on the device.
#include <limits>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/math/host_math.h"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

bool IsFloat(EpElementType type) { return kit::Contains(kDeviceFloats, type); }

// A bound that limits no value.
MapParameter NoBound(EpElementType type, bool upper) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (IsFloat(type)) return MapParameter::Of(upper ? kInfinity : -kInfinity);
  const auto bits = static_cast<int>(8 * kit::ElementBytes(type, 1));
  if (kit::Contains(kit::kUnsigned, type)) return MapParameter::Of(upper ? (int64_t{1} << bits) - 1 : 0);
  return MapParameter::Of(upper ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits));
}

MapParameter BoundOf(const HostTensor& bound) {
  return bound.IsFloat() ? MapParameter::Of(static_cast<float>(bound.floats[0])) : MapParameter::Of(bound.ints[0]);
}

void RecordClip(Recording& r) {
  const EpElementType type = r.InputType(0);
  const Dims dims = r.InputDims(0);
  MapParameter bounds[] = {NoBound(type, false), NoBound(type, true)};
  int32_t on_device[] = {-1, -1};
  for (size_t i = 0; i < 2; ++i) {
    const char* name = i == 0 ? "min" : "max";
    if (r.node().since_version < 11) {
      if (r.node().Has(name)) bounds[i] = MapParameter::Of(type, static_cast<double>(r.node().Float(name, 0)));
      continue;
    }
    if (!r.HasInput(i + 1)) continue;
    if (r.InputDims(i + 1).Count() != 1)
      kit::FailArgument(name, " has shape ", kit::ShapeText(r.InputDims(i + 1)), "; one element expected");
    if (const HostTensor* known = r.Host(i + 1)) {
      bounds[i] = BoundOf(*known);
    } else {
      on_device[i] = r.InputTensor(i + 1);
    }
  }
  MapOperand x = {r.InputTensor(0), dims};
  const int32_t y = r.Output(0, type, dims);
  // Bounds on the device are applied one after the other. The upper one comes last, because it wins where they cross.
  if (on_device[0] >= 0) {
    const MapOperand both[] = {x, {on_device[0], {}}};
    x.tensor = r.Scratch(type, dims);
    AddElementwise(r, type, {MapOp::kMax}, both, x.tensor, dims);
  }
  if (on_device[1] >= 0) {
    if (on_device[0] < 0) {
      const MapOperand from = x;
      x.tensor = r.Scratch(type, dims);
      AddElementwise(r, type, {MapOp::kClip, bounds[0], NoBound(type, true)}, {&from, 1}, x.tensor, dims);
    }
    const MapOperand both[] = {x, {on_device[1], {}}};
    return AddElementwise(r, type, {MapOp::kMin}, both, y, dims);
  }
  AddElementwise(r, type, {MapOp::kClip, bounds[0], bounds[1]}, {&x, 1}, y, dims);
}

}  // namespace

void Register_clip(OperatorTable& table) {
  table.Add({.op_type = "Clip", .types = kDeviceFloats | kDeviceIntegers, .record = RecordClip, .on_host = ClipOnHost});
}

}  // namespace epiphyte::vulkan
