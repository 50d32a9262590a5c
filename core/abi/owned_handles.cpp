#include "core/abi/owned_handles.h"

namespace epiphyte::core {

// Leaked: sessions may end after static destructors began.
OwnedHandles& OwnedHandles::Kernels() {
  static OwnedHandles* const kernels = new OwnedHandles;
  return *kernels;
}

OwnedHandles& OwnedHandles::States() {
  static OwnedHandles* const states = new OwnedHandles;
  return *states;
}

bool OwnedHandles::Add(const EpPluginDescriptor* plugin, const void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return owned_.emplace(plugin, handle).second;
}

void OwnedHandles::Remove(const EpPluginDescriptor* plugin, const void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  owned_.erase({plugin, handle});
}

}  // namespace epiphyte::core
