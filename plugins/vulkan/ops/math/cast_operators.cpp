// Cast and CastLike among the types that the device computes with.
#include "epiphyte/kit/signature/cast_type.hpp"
#include "plugins/vulkan/ops/math/cast.h"
#include "plugins/vulkan/ops/math/host_math.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckCast(const NodeCheck& check) {
  return WhyNotCast(check.capabilities(), check.InputType(0), kit::CastType(check.node()));
}
std::string CheckCastLike(const NodeCheck& check) {
  return WhyNotCast(check.capabilities(), check.InputType(0), check.InputType(1));
}

void Record(Recording& r, EpElementType type) {
  const Dims dims = r.InputDims(0);
  if (r.InputType(0) == type) return r.OutputAs(0, 0, dims);
  AddCast(r, r.InputType(0), r.InputTensor(0), type, r.Output(0, type, dims));
}
void RecordCast(Recording& r) { Record(r, kit::CastType(r.node())); }
void RecordCastLike(Recording& r) { Record(r, r.InputType(1)); }

}  // namespace

void Register_cast_operators(OperatorTable& table) {
  table.Add({.op_type = "Cast", .types = kCastTypes, .check = CheckCast, .record = RecordCast, .on_host = CastOnHost});
  table.Add({.op_type = "CastLike",
             .types = kCastTypes,
             .check = CheckCastLike,
             .record = RecordCastLike,
             .on_host = CastOnHost});
}

}  // namespace epiphyte::vulkan
