#include "core/abi/owned_handles.h"

namespace epiphyte::core {

// The table is leaked because sessions may end after static destructors began.
OwnedHandles& OwnedHandles::Kernels() {
  static OwnedHandles* const kernels = new OwnedHandles;
  return *kernels;
}

OwnedHandles& OwnedHandles::States() {
  static OwnedHandles* const states = new OwnedHandles;
  return *states;
}

OwnedHandles& OwnedHandles::Buffers() {
  static OwnedHandles* const buffers = new OwnedHandles;
  return *buffers;
}

OwnedHandles& OwnedHandles::Streams() {
  static OwnedHandles* const streams = new OwnedHandles;
  return *streams;
}

bool OwnedHandles::Add(const EpPluginDescriptor* plugin, const void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (owned_.contains({plugin, handle})) return false;
  owned_.emplace(plugin, handle);
  return true;
}

void OwnedHandles::Remove(const EpPluginDescriptor* plugin, const void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  owned_.erase({plugin, handle});
}

}  // namespace epiphyte::core
