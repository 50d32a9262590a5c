// Plugins' view of share groups: the workspaces and the table "ep.share_group/1".
#include "core/abi/share_workspaces.h"

#include <algorithm>

#include "core/abi/handles.h"
#include "core/base/log.h"

namespace epiphyte::core {

ShareWorkspaces::~ShareWorkspaces() {
  for (const auto& [plugin, workspace] : workspaces_) {
    try {
      workspace.release(workspace.data);
    } catch (...) {
      Log(LogLevel::kError, "abi", "share group '{}': releasing a workspace let an exception escape; it was dropped",
          name_);
    }
  }
}

EpStatus* ShareWorkspaces::Get(const void* plugin, EpMakeWorkspace make, void* user, EpFreeWorkspace release,
                               void** workspace) {
  std::lock_guard lock(mutex_);
  if (making_) {
    return MakeStatus(StatusCode::kEpFail,
                      "GetWorkspace was called by the function that makes a workspace; call it after that returned");
  }
  auto found = workspaces_.find(plugin);
  if (found == workspaces_.end()) {
    Workspace made;
    making_ = true;
    EpStatus* status = Guard([&] {
      // The entry is inserted first: an insertion that fails afterwards would leave the new workspace without an owner.
      found = workspaces_.emplace(plugin, Workspace{}).first;
      ThrowIfFailed(make(user, &made.data), "making a workspace");
      if (made.data == nullptr) Fail(StatusCode::kEpFail, "making a workspace succeeded but gave none");
    });
    making_ = false;
    if (status != nullptr) {
      if (found != workspaces_.end()) workspaces_.erase(found);
      return status;
    }
    made.release = release;
    found->second = made;
  }
  *workspace = found->second.data;
  return nullptr;
}

void ShareWorkspaces::Keep(std::span<const ContextBlob> blobs) {
  std::lock_guard lock(mutex_);
  for (const ContextBlob& blob : blobs) {
    const auto is_same = [&](const ContextBlob& kept) {
      return kept.data == blob.data && kept.size == blob.size && kept.owner == blob.owner;
    };
    if (blob.size != 0 && std::none_of(kept_.begin(), kept_.end(), is_same)) kept_.push_back(blob);
  }
}

namespace {

EpStatus* EP_CALL GetInfo(const EpShareGroup* group, EpShareInfo* info) {
  return Guard([&] {
    if (group == nullptr || info == nullptr) {
      Fail(StatusCode::kInvalidArgument, "a null pointer was passed to GetInfo of a share group");
    }
    EpShareInfo full{};
    full.compiling = group->compiling ? 1 : 0;
    full.last = group->last ? 1 : 0;
    full.name = group->workspaces->name().c_str();
    FillAbi(full, info);
  });
}

EpStatus* EP_CALL GetWorkspace(EpShareGroup* group, EpMakeWorkspace make, void* user, EpFreeWorkspace release,
                               void** workspace) {
  if (group == nullptr || make == nullptr || release == nullptr || workspace == nullptr) {
    return MakeStatus(StatusCode::kInvalidArgument, "a null pointer was passed to GetWorkspace of a share group");
  }
  return Guard([&] {
    ThrowIfFailed(group->workspaces->Get(group->plugin, make, user, release, workspace),
                  fmt::format("share group '{}'", group->workspaces->name()));
  });
}

}  // namespace

const EpShareApi kShareApi = {sizeof(EpShareApi), 0, GetInfo, GetWorkspace};

}  // namespace epiphyte::core
