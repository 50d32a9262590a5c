#include "plugins/cpu/share.h"

#include <algorithm>

namespace epiphyte::cpu {

void ShareWorkspace::AddPlans(const std::vector<std::shared_ptr<const Plan>>& plans) {
  const std::lock_guard lock(mutex_);
  for (const auto& plan : plans) {
    const auto same_name = [&](const auto& other) { return other->def().name == plan->def().name; };
    if (std::any_of(plans_.begin(), plans_.end(), same_name))
      FailOp("two sessions of the share group have a partition '{}'; give each its own ep.context_node_name_prefix",
             plan->def().name);
    plans_.push_back(plan);
  }
}

std::vector<std::shared_ptr<const Plan>> ShareWorkspace::TakePlans() {
  const std::lock_guard lock(mutex_);
  return std::exchange(plans_, {});
}

std::shared_ptr<const kit::ContextContainer> ShareWorkspace::Open(const void* data, uint64_t size) {
  const std::lock_guard lock(mutex_);
  // The memory of an expired entry may have been freed and reused, so its address proves nothing.
  std::erase_if(opened_, [](const Opened& entry) { return entry.context.expired(); });
  for (const Opened& entry : opened_) {
    if (entry.data != data || entry.size != size) continue;
    if (std::shared_ptr<const kit::ContextContainer> context = entry.context.lock()) return context;
  }
  auto context = OpenContext(data, size);
  opened_.push_back({data, size, context});
  return context;
}

}  // namespace epiphyte::cpu
