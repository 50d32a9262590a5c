// DebugShareGroup: a share group with one workspace, because there is one plugin, and a provider's membership in it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/ep_share.h"
#include "host/conformance/memory/lent_memory.h"

namespace epiphyte::conformance {

// Freed with the last membership.
struct DebugWorkspace {
  ~DebugWorkspace();
  // Returns the payload with these bytes. Every loading session of the group gets it at the same address, until the
  // last provider of the group is destroyed. `make` makes it for the first session.
  LentMemory& Payload(const std::string& bytes, const std::function<std::unique_ptr<LentMemory>()>& make);

  // Destroyed after the plugin's workspace, which the destructor releases first because it may view payloads.
  std::vector<std::pair<std::string, std::unique_ptr<LentMemory>>> payloads;
  std::mutex mutex;
  void* data = nullptr;
  EpFreeWorkspace release = nullptr;
};

class DebugMembership {
 public:
  DebugMembership(std::shared_ptr<DebugWorkspace> workspace, bool compiling, bool last);
  ~DebugMembership();
  DebugMembership(const DebugMembership&) = delete;
  DebugMembership& operator=(const DebugMembership&) = delete;

  EpShareGroup* handle() const { return handle_; }
  bool defers_payload() const { return info_.compiling != 0 && info_.last == 0; }
  bool writes_payload() const { return info_.compiling != 0 && info_.last != 0; }
  const EpShareInfo& info() const { return info_; }
  DebugWorkspace& workspace() { return *workspace_; }
  // Returns whether the plugin has asked for a group in this process. A plugin need not use this extension.
  static bool WasAsked();

 private:
  std::shared_ptr<DebugWorkspace> workspace_;
  EpShareInfo info_ = {};
  EpShareGroup* handle_;
};

}  // namespace epiphyte::conformance
