// DebugShareGroup: a share group, with one workspace as there is one plugin; and how a provider takes part in it.
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
  // The payload of these bytes: every loading session of the group gets it at the same address, until the last provider
  // of the group was destroyed. `make` lends it to the first.
  LentMemory& Payload(const std::string& bytes, const std::function<std::unique_ptr<LentMemory>()>& make);

  // Destroyed after the destructor's release of the plugin's workspace, which may view payloads.
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
  // The plugin has asked for any group in this process: share groups are an extension, which it need not use.
  static bool WasAsked();

 private:
  std::shared_ptr<DebugWorkspace> workspace_;
  EpShareInfo info_ = {};
  EpShareGroup* handle_;
};

}  // namespace epiphyte::conformance
