#include "plugins/npu/share.h"

#include <algorithm>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::npu {

void ShareWorkspace::Add(const Partitions& partitions) {
  const std::lock_guard lock(mutex_);
  for (const auto& partition : partitions) {
    for (const auto& other : partitions_) {
      if (other->name == partition->name)
        kit::FailArgument("two sessions of the share group have a partition '", partition->name,
                          "'; give each its own ep.context_node_name_prefix");
      const SdkContext &here = partition->compiled->context(), &there = other->compiled->context();
      if (here.target().architecture != there.target().architecture || &here.sdk() != &there.sdk())
        kit::FailArgument("two sessions of the share group compile for different NPUs, ", there.target().architecture,
                          " and ", here.target().architecture, "; give all of them the same options");
    }
    partitions_.push_back(partition);
  }
}

ShareWorkspace::Partitions ShareWorkspace::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(partitions_, {});
}

std::shared_ptr<const SdkContext> ShareWorkspace::Context(
    const std::string& key, const std::function<std::shared_ptr<const SdkContext>()>& make) {
  const std::lock_guard lock(mutex_);
  Device& device = devices_[key];
  if (device.context == nullptr) device.context = make();
  return device.context;
}

std::shared_ptr<const Group> ShareWorkspace::GroupOf(const std::string& key, NsdkGroupKind kind) {
  const std::lock_guard lock(mutex_);
  Device& device = devices_.at(key);
  if (!device.context->sdk().Can(NSDK_CAN_GROUP)) return nullptr;
  std::shared_ptr<const Group>& group = kind == NSDK_SHARE_WEIGHTS ? device.weights : device.scratch;
  if (group == nullptr) group = std::make_shared<const Group>(device.context, kind);
  return group;
}

}  // namespace epiphyte::npu
