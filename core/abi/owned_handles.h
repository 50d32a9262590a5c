// OwnedHandles: handles that plugins handed out and the host has not released yet. Each has one owner in the process,
// so it is released once. A handle that a plugin hands out a second time, in any call or session, is refused.
//
// A handle need not be an address, so two plugins may have equal handles; the plugin is part of the key.
#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {

class OwnedHandles {
 public:
  // One table for each kind of handle, for the life of the process.
  static OwnedHandles& Kernels();
  static OwnedHandles& States();
  static OwnedHandles& Buffers();
  static OwnedHandles& Streams();

  // Returns false when the handle has an owner already. Throws std::bad_alloc only for a handle without an owner.
  bool Add(const EpPluginDescriptor* plugin, const void* handle);
  // Call it before the release: afterwards the plugin may hand out the same value for a new object.
  void Remove(const EpPluginDescriptor* plugin, const void* handle);

 private:
  std::mutex mutex_;
  std::set<std::pair<const EpPluginDescriptor*, const void*>> owned_;
};

}  // namespace epiphyte::core
