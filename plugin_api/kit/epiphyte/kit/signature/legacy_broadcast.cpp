#include "epiphyte/kit/signature/legacy_broadcast.hpp"

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {

Dims LegacyBroadcast::Align(const Dims& a, const Dims& b) const {
  if (!active_) return b;
  if (!broadcast_) {
    if (!(a == b)) FailArgument("shapes ", ShapeText(a), " and ", ShapeText(b), " differ and broadcast is not set");
    return b;
  }
  if (!has_axis_) return b;
  const auto rank = static_cast<int64_t>(a.size());
  const int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
  const int64_t trailing = rank - axis - static_cast<int64_t>(b.size());
  if (axis < 0 || trailing < 0)
    FailArgument("axis ", axis_, " does not place shape ", ShapeText(b), " inside ", ShapeText(a));
  Dims aligned = b;
  for (int64_t i = 0; i < trailing; ++i) aligned.push_back(1);
  return aligned;
}

}  // namespace epiphyte::kit
