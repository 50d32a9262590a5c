#include "plugins/vulkan/device/hazards.h"

#include <algorithm>

namespace epiphyte::vulkan {

bool Hazards::Meets(const Touch& touch) const {
  const auto found = since_.find(touch.memory);
  if (found == since_.end()) return false;
  return std::ranges::any_of(found->second, [&touch](const Touch& earlier) {
    return (earlier.write || touch.write) && earlier.begin < touch.begin + touch.size &&
           touch.begin < earlier.begin + earlier.size;
  });
}

std::optional<Hazards::Stages> Hazards::Add(std::span<const Touch> touches, Stages stage) {
  std::optional<Stages> before;
  if (std::ranges::any_of(touches, [this](const Touch& touch) { return Meets(touch); })) {
    before = stages_;
    since_.clear();
    stages_ = 0;
  }
  for (const Touch& touch : touches) since_[touch.memory].push_back(touch);
  stages_ |= stage;
  return before;
}

}  // namespace epiphyte::vulkan
