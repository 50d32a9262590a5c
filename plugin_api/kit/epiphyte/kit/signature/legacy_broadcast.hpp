// LegacyBroadcast: broadcasting of element-wise operators before opset 7. There the attributes `broadcast` and `axis`
// place the second shape over the first, instead of numpy's rules.
//
//   const kit::LegacyBroadcast legacy(node);
//   const kit::Dims b_dims = legacy.Align(a.dims, b.dims);     // [3,4] at axis 1 of [2,3,4,5]: [3,4,1]
//   const kit::Dims out = kit::BroadcastShape(a.dims, b_dims);
#pragma once

#include <cstdint>

#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

class LegacyBroadcast {
 public:
  explicit LegacyBroadcast(const ir::Node& node, int64_t numpy_since = 7)
      : active_(node.since_version < numpy_since),
        broadcast_(active_ && node.Int("broadcast", 0) != 0),
        has_axis_(active_ && node.Has("axis")),
        axis_(has_axis_ ? node.Int("axis", 0) : 0) {}

  bool active() const { return active_; }

  // The second shape with ones added, so that numpy's rules place it as `axis` says. Unchanged since opset 7. Throws
  // Error(EP_STATUS_INVALID_ARGUMENT) when it can't be placed.
  Dims Align(const Dims& a, const Dims& b) const;

 private:
  bool active_;
  bool broadcast_;
  bool has_axis_;
  int64_t axis_;
};

}  // namespace epiphyte::kit
