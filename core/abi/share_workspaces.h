// ShareWorkspaces: one workspace for each plugin of a share group. The plugin makes and frees it.
//
// Providers of the group hold this through shared_ptr. The workspaces are freed after the last provider, in whatever
// order the sessions end.
//
//   auto workspaces = std::make_shared<ShareWorkspaces>("llama");
//   ProviderConfig config;
//   config.share = {workspaces, /*compiling=*/true, /*last=*/false};
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/context_node.h"
#include "epiphyte/ep_share.h"

namespace epiphyte::core {

class ShareWorkspaces {
 public:
  explicit ShareWorkspaces(std::string name) : name_(std::move(name)) {}
  ~ShareWorkspaces();
  ShareWorkspaces(const ShareWorkspaces&) = delete;
  ShareWorkspaces& operator=(const ShareWorkspaces&) = delete;

  const std::string& name() const { return name_; }
  // `plugin` is the key of the workspace. Returns the plugin's own status when it can't make one.
  EpStatus* Get(const void* plugin, EpMakeWorkspace make, void* user, EpFreeWorkspace release, void** workspace);
  // Keeps the payloads of a provider in the group. A workspace may view them, so they are freed after it.
  void Keep(std::span<const ContextBlob> blobs);

 private:
  struct Workspace {
    void* data = nullptr;
    EpFreeWorkspace release = nullptr;
  };
  const std::string name_;
  std::vector<ContextBlob> kept_;  // each payload once; destroyed after the destructor has released the workspaces
  std::recursive_mutex mutex_;     // recursive, so that a `make` that asks again gets an error instead of a deadlock
  bool making_ = false;
  std::unordered_map<const void*, Workspace> workspaces_;
};

// Role of one session in a share group.
struct ShareMembership {
  std::shared_ptr<ShareWorkspaces> workspaces;  // null: no group
  bool compiling = false;
  bool last = false;
};

}  // namespace epiphyte::core

// Role of one provider in a share group. Lives as long as the provider.
struct EpShareGroup {
  std::shared_ptr<epiphyte::core::ShareWorkspaces> workspaces;
  const void* plugin = nullptr;
  bool compiling = false;
  bool last = false;
};
