// Environment: the state that sessions share: the catalog of plugins, and the groups of sessions that share weights. It
// outlives its sessions.
//
//   Environment environment(CatalogOptions{});
//   Session session(environment, "model.onnx", options);
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/context/share_group.h"
#include "core/device/devices.h"
#include "core/registry/catalog.h"
#include "core/runtime/async_runner.h"

namespace epiphyte::core {

// Values in device memory may outlive their session. They may outlive the environment, too, if a shared_ptr owns it.
class Environment : public std::enable_shared_from_this<Environment> {
 public:
  // `guard_mapped_files`: see core/base/mapping_guard.h.
  // `max_async_runs`: see AsyncRunner.
  explicit Environment(CatalogOptions options, bool guard_mapped_files = true, uint32_t max_async_runs = 0);
  Catalog& catalog() { return catalog_; }
  ShareGroups& share_groups() { return share_groups_; }
  // Runs tasks that no caller waits for.
  AsyncRunner& async_runner() { return async_runner_; }
  // Pools of the plugins' devices.
  Devices& devices();
  // The environment of the allocation's pool, which the allocation keeps alive. Null when no shared_ptr owns it.
  static std::shared_ptr<Environment> Of(const DeviceAllocation& piece);
  // Memory in bytes that this process may use, as it was when the environment was made.
  uint64_t memory() const { return memory_; }

 private:
  Catalog catalog_;
  std::once_flag devices_kept_;
  Devices devices_;
  ShareGroups share_groups_;  // destroyed before the plugins, because it has their workspaces
  uint64_t memory_;
  AsyncRunner async_runner_;  // destroyed first
};

}  // namespace epiphyte::core
