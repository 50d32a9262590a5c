// Share groups: sessions that share weights, under a name in an Environment.
//
// Loading: a group lives as long as one of its sessions. It maps each payload once and keeps its digest; a file that
// was replaced meanwhile counts as another payload. A payload in an application's store is opened once. A payload
// embedded in the models is kept once, however many sessions bring it.
//
// Compiling: a group lives from its first session to the one with ep.stop_share_ep_contexts, which publishes all
// models. A session that fails leaves the group, with the models it has so far, to the others. One failure ends the
// group: its last session fails after a plugin began to write payloads that earlier sessions deferred, which can't be
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

  // The mapping of `path`; the first caller makes it. Throws as MappedFile::Open does.
  ContextBlob OpenFile(const std::filesystem::path& path);
  // Digest of a blob from OpenFile; it is cached. Concurrent callers each compute it until it is known, so that one
  // session's on_progress never blocks another session.
  std::string DigestOf(const ContextBlob& blob, ThreadPool* pool, const ProgressCallback& on_progress);

  // The payload that `record` describes, if a session of the group has opened it in `store`; otherwise an empty blob.
  // `verified`: only a payload with a digest that was compared with such a record.
  ContextBlob FindStored(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record, bool verified);
  // Caches a payload that a session has opened in `store` and found as recorded. Returns the group's blob: `blob`, or
  // that of a session that was faster.
  ContextBlob KeepStored(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record, bool verified,
                         const ContextBlob& blob);
  // The group's blob with the same bytes as `blob`, which each session brings as a copy of its own. If there is none
  // yet, `make_own` makes the blob to keep.
  ContextBlob Unify(const ContextBlob& blob, const std::function<ContextBlob()>& make_own);

 private:
  struct Shared {
    ContextBlob blob;
    std::string xxh128;  // "" until it is first requested
  };
  struct Stored {
    std::weak_ptr<ContextStore> store;
    PayloadRecord record;
    bool verified = false;
    ContextBlob blob;
  };
  Stored* FindEntry(const std::shared_ptr<ContextStore>& store, const PayloadRecord& record);

  std::mutex mutex_;
  std::map<std::string, Shared> files_;  // key: path, and the stamp that tells a file from its replacement
  std::vector<Stored> stored_;           // guarded by mutex_
  std::mutex unified_mutex_;             // held while bytes are compared, so that equal ones are kept once
  std::vector<ContextBlob> unified_;
  std::shared_ptr<ShareWorkspaces> workspaces_;  // destroyed before the files, which it may view
};

// Share groups of an environment. Thread-safe.
class ShareGroups {
 public:
  // The group of that name if sessions use it, else a new one.
  std::shared_ptr<ShareGroup> ForLoading(const std::string& name);

  // A compiling group with its models so far.
  struct Compiling {
    std::shared_ptr<ShareGroup> group;
    std::shared_ptr<ContextSet> set;  // null until the first session has made it
    std::mutex turn;     // held by the session that compiles: sessions of a group compile one after another
    bool ended = false;  // published or given up; guarded by `turn`
    std::atomic<std::thread::id> compiler;  // thread that holds `turn`; default-constructed when none does
  };
  // Returns the compiling group of that name, and makes it if needed.
  std::shared_ptr<Compiling> ForCompiling(const std::string& name);
  // Ends the group: the next session under that name begins a new one.
  void EndCompiling(const std::string& name, const std::shared_ptr<Compiling>& which);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ShareGroup>> loading_;
  std::map<std::string, std::shared_ptr<Compiling>> compiling_;
};

}  // namespace epiphyte::core
