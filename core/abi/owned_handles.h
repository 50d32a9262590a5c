// OwnedHandles: what plugins handed out and the host has not released yet. Each has one owner in the process, so that
// it is released once: what a plugin hands out a second time, in whichever call or session, is refused.
//
// A handle need not be an address, so handles are told apart by their plugin too.
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

  // False when it has an owner already. Throws std::bad_alloc, but only for one that has none.
  bool Add(const EpPluginDescriptor* plugin, const void* handle);
  // Before the release: afterwards the plugin may hand out the same value for something new.
  void Remove(const EpPluginDescriptor* plugin, const void* handle);

 private:
  std::mutex mutex_;
  std::set<std::pair<const EpPluginDescriptor*, const void*>> owned_;
};

}  // namespace epiphyte::core
