#include "plugins/vulkan/ops/math/cast.h"

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {

std::string WhyNotCast(const Capabilities& capabilities, EpElementType from, EpElementType to) {
  for (const EpElementType type : {from, to}) {
    if (!kit::Contains(kCastTypes, type))
      return kit::TextOf("a cast from ", kit::TypeName(from), " to ", kit::TypeName(to), "; casts are between ",
                         kit::TypeNames(kCastTypes));
    if (type == EP_TYPE_INT64 && from != to && !capabilities.Has(Capability::kInt64))
      return kit::TextOf("int64 can't be computed with: ", capabilities.WhyNot(Capability::kInt64));
  }
  return {};
}

void AddCast(Recording& r, EpElementType from, int32_t x, EpElementType to, int32_t y) {
  const int64_t count = r.tensor(y).dims.Count();
  r.Add({.shader = Recording::ShaderFor(Recording::ShaderFor("cast", from), to),
         .specialization = {},
         .parameters = {Word(count)},
         .bindings = {Recording::ReadTensor(x), Recording::Write(y)},
         .groups = r.GroupsFor(count)});
}

}  // namespace epiphyte::vulkan
