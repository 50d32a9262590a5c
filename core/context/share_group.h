// Share groups: sessions that share weights, in an Environment under a name.
//
// Loading: a group lives as long as a session of it. It maps each payload once and keeps its digest; a file that was
// replaced in the meantime counts as another payload. A payload in an application's store is opened once, and one that
// is embedded in the models is kept once, however many sessions bring it.
// Compiling: a group lives from its first session to the one with ep.stop_share_ep_contexts, which publishes what all
// have compiled. A session that fails leaves the group to the others, with the models that it has. The group is given
// up when its last session fails after a plugin began to write what earlier sessions left with it: that can't be
// repeated.
//
//   std::shared_ptr<ShareGroup> group = groups.ForLoading(name);
//   ContextBlob blob = group->OpenFile(path);
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/abi/provider.h"
#include "core/abi/share_workspaces.h"
#include "core/context/context_metadata.h"
#include "core/context/context_store.h"

namespace epiphyte::core {

class ContextSet;

class ShareGroup {
 public:
  explicit ShareGroup(const std::string& name) : workspaces_(std::make_shared<ShareWorkspaces>(name)) {}

  const std::shared_ptr<ShareWorkspaces>& workspaces() const { return workspaces_; }

  // The mapping of `path`, made by the first who asks. Throws as MappedFile::Open does.
  ContextBlob OpenFile(const std::filesystem::path& path);
  // The digest of a blob from OpenFile. It is kept; those who ask before it is known compute it each, so that no
  // session's on_progress keeps another waiting.
  std::string DigestOf(const ContextBlob& blob, ThreadPool* pool, const ProgressCallback& on_progress);

  // The payload that `record` describes, as a session of the group has opened it in `store`; an empty blob when none
  // has. `verified`: only one whose digest was compared with such a record.
  ContextBlob FindStored(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record, bool verified);
  // Keeps what a session has opened in `store` and found as recorded. Returns what the group has of it: `blob`, or the
  // blob of a session that was faster.
  ContextBlob KeepStored(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record, bool verified,
                         const ContextBlob& blob);
  // The blob of the group that has the same bytes as `blob`, of which each session brings a copy of its own; when there
  // is none yet, `make_own` gives the one to keep.
  ContextBlob Unify(const ContextBlob& blob, const std::function<ContextBlob()>& make_own);

 private:
  struct Shared {
    ContextBlob blob;
    std::string xxh128;  // "" until somebody asked
  };
  struct Stored {
    std::weak_ptr<ContextStore> store;
    PayloadRecord record;
    bool verified = false;
    ContextBlob blob;
  };
  Stored* FindEntry(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record);

  std::mutex mutex_;
  std::map<std::string, Shared> files_;  // by path and what tells a file from its replacement
  std::vector<Stored> stored_;           // guarded by mutex_
  std::mutex unified_mutex_;             // held while bytes are compared, so that equal ones are kept once
  std::vector<ContextBlob> unified_;
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
