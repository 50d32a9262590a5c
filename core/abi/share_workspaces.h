// ShareWorkspaces: the plugins' side of a share group: one workspace for each plugin, which the plugin makes and frees.
//
// Providers of the group hold it through shared_ptr, so the workspaces go when the last provider has gone, in whatever
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
  // `plugin` tells the workspaces apart. Returns the plugin's own status when it can't make one.
  EpStatus* Get(const void* plugin, EpMakeWorkspace make, void* user, EpFreeWorkspace release, void** workspace);
  // Keeps payloads that a provider of the group has got: a workspace may view them, so they go after it.
  void Keep(std::span<const ContextBlob> blobs);

 private:
  struct Workspace {
    void* data = nullptr;
    EpFreeWorkspace release = nullptr;
  };
  const std::string name_;
  std::vector<ContextBlob> kept_;  // each once; destroyed after the destructor has released the workspaces
  std::recursive_mutex mutex_;     // recursive, so that a `make` that asks again gets an error instead of a deadlock
  bool making_ = false;
  std::unordered_map<const void*, Workspace> workspaces_;
};

// How one session takes part in a group.
struct ShareMembership {
  std::shared_ptr<ShareWorkspaces> workspaces;  // null: no group
  bool compiling = false;
  bool last = false;
};

}  // namespace epiphyte::core

// How one provider takes part in a share group. Lives as long as the provider.
struct EpShareGroup {
  std::shared_ptr<epiphyte::core::ShareWorkspaces> workspaces;
  const void* plugin = nullptr;
  bool compiling = false;
  bool last = false;
};
