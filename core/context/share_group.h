// Share groups: sessions that share weights, in an Environment under a name.
//
// Loading: a group lives as long as a session of it. It maps each payload once and keeps its digest; a file that was
// replaced in the meantime counts as another payload.
// Compiling: a group lives from its first session to the one with ep.stop_share_ep_contexts, which publishes what all
// have compiled; a failure on the way gives the whole group up.
//
//   std::shared_ptr<ShareGroup> group = groups.ForLoading(name);
//   ContextBlob blob = group->OpenFile(path);
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/abi/provider.h"
#include "core/abi/share_workspaces.h"

namespace epiphyte::core {

class ContextSet;

class ShareGroup {
 public:
  explicit ShareGroup(const std::string& name) : workspaces_(std::make_shared<ShareWorkspaces>(name)) {}

  const std::shared_ptr<ShareWorkspaces>& workspaces() const { return workspaces_; }

  // The mapping of `path`, made by the first who asks. Throws as MappedFile::Open does.
  ContextBlob OpenFile(const std::filesystem::path& path);
  // The digest of a blob from OpenFile. It is kept; those who ask before it is known compute it each, so that no
  // session's pulse keeps another waiting.
  std::string DigestOf(const ContextBlob& blob, ThreadPool* pool, const Pulse& pulse);

 private:
  struct Shared {
    ContextBlob blob;
    std::string xxh128;  // "" until somebody asked
  };
  std::mutex mutex_;
  std::map<std::string, Shared> files_;          // by path and what tells a file from its replacement
  std::shared_ptr<ShareWorkspaces> workspaces_;  // goes before the files, which it may view
};

// Those of an environment. Thread-safe.
class ShareGroups {
 public:
  // The group of that name that sessions are using, or a new one.
  std::shared_ptr<ShareGroup> ForLoading(const std::string& name);

  // A group that compiles, with what it has so far.
  struct Compiling {
    std::shared_ptr<ShareGroup> group;
    std::shared_ptr<ContextSet> set;        // null until the first session has made it
    std::mutex turn;                        // sessions of a group compile one after another
    bool ended = false;                     // published or given up; guarded by `turn`
    std::atomic<std::thread::id> compiler;  // who has `turn`; nobody: none
  };
  // Made when there is none.
  std::shared_ptr<Compiling> ForCompiling(const std::string& name);
  // The next session under that name begins a new group.
  void EndCompiling(const std::string& name, const std::shared_ptr<Compiling>& which);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ShareGroup>> loading_;
  std::map<std::string, std::shared_ptr<Compiling>> compiling_;
};

}  // namespace epiphyte::core
