// ShareGroup: sessions that share weights, with a workspace of a type that the plugin defines. See epiphyte/ep_share.h.
//
//   struct Workspace {                       // default-constructed by the first provider of the group
//     std::mutex mutex;
//     std::map<std::string, Graph> graphs;
//   };
//
//   explicit MyProvider(const kit::ProviderConfig& config) : share_(config.host, config.share_group) {}
//   …
//   if (share_) {
//     std::lock_guard lock(share_->mutex);
//     share_->graphs[name] = graph;
//   }
//
// A provider that makes contexts overrides KeepContext too. In a compiling group it is called instead of SaveContext in
// every session but the last. The last session's SaveContext then writes the partitions that all sessions kept.
#pragma once

#include <string_view>

#include "epiphyte/ep_share.h"
#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// A session's role in its share group. All members are false, null or empty without a group.
struct ShareMembership {
  const EpShareApi* api = nullptr;  // null: no group
  bool compiling = false;
  bool last = false;
  std::string_view name;

  ShareMembership() = default;
  ShareMembership(const EpHostInfo& host, const EpShareGroup* group) {
    if (group == nullptr) return;
    api = static_cast<const EpShareApi*>(host.GetExtension(&host, EP_SHARE_EXTENSION));
    if (api == nullptr) return;
    EpShareInfo info = {};
    info.struct_size = sizeof(info);
    ThrowIfFailed(host, api->GetInfo(group, &info));
    compiling = info.compiling != 0;
    last = info.last != 0;
    name = info.name;
  }
  // True: a later session of the group writes the payload.
  bool defers_payload() const { return compiling && !last; }
};

template <typename Workspace>
class ShareGroup {
 public:
  ShareGroup() = default;
  ShareGroup(const EpHostInfo& host, EpShareGroup* group) : membership_(host, group) {
    if (membership_.api == nullptr) return;
    const EpMakeWorkspace make = [](void* user, void** workspace) {
      return Guard(*static_cast<const EpHostInfo*>(user), [&] { *workspace = new Workspace(); });
    };
    const EpFreeWorkspace release = [](void* workspace) { delete static_cast<Workspace*>(workspace); };
    void* workspace = nullptr;
    ThrowIfFailed(host,
                  membership_.api->GetWorkspace(group, make, const_cast<EpHostInfo*>(&host), release, &workspace));
    workspace_ = static_cast<Workspace*>(workspace);
  }

  // False: the session is in no group, or the host does not support groups.
  explicit operator bool() const { return workspace_ != nullptr; }
  Workspace* operator->() const { return workspace_; }
  Workspace& operator*() const { return *workspace_; }
  const ShareMembership& membership() const { return membership_; }

 private:
  ShareMembership membership_;
  Workspace* workspace_ = nullptr;  // outlives the provider
};

}  // namespace epiphyte::kit
