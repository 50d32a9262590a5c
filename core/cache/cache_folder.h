// Cache folder: the context cache on disk, shared by any number of processes.
//
//   DIR/<first 2 digits>/<key>/…       an entry, see cache_entry.h
//   DIR/<first 2 digits>/<key>.lock    while the entry is being made
//   DIR/tmp-<process>-<number>/        an entry on its way in, or out
//   DIR/secret                         see cache_trust.h
//
// Folders are made for their owner alone.
//
// Entries come and go by renaming their folders, so no process sees a partial entry. A session that has an entry open
// keeps its files through its mappings. Other files in DIR are never touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/remove_on_exit.h"
#include "core/cache/cache_entry.h"

namespace epiphyte::core {

class CacheFolder {
 public:
  // Private folder in which an entry is made. It is removed with its content unless the entry was published. The folder
  // of a killed process is recognised by its lock, which the system has released.
  class Staging {
   public:
    explicit Staging(const std::filesystem::path& folder);  // throws FAIL when the folder can't be made
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    std::filesystem::path entry() const { return path_ / "entry"; }
    std::filesystem::path old() const { return path_ / "old"; }

   private:
    std::filesystem::path path_;
    RemoveOnExit remove_on_exit_;
    int fd_ = -1;
  };

  struct Entry {
    std::string key;
    std::filesystem::path path;
    uint64_t size = 0;      // bytes of all files
    int64_t last_used = 0;  // seconds since 1970
    CacheRecord record;     // empty when it can't be read
    std::string problem;    // why a session wouldn't use it, or the result of Verify; "" when there is no problem
  };

  struct Removed {
    std::vector<Entry> broken;
    std::vector<Entry> evicted;  // removed because of the size limit
    uint64_t leftovers = 0;      // staging folders of processes that ended while they made an entry
  };

  // Resolves symbolic links in the path now, so that the folder that was checked is the folder that is used.
  explicit CacheFolder(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path EntryPath(std::string_view key) const;
  // Makes the folders that lead to the entry. Throws FAIL.
  void MakeWay(std::string_view key) const;
  std::filesystem::path LockPath(std::string_view key) const;

  // Puts staging.entry() in place. An existing entry is replaced if `replace` is set; otherwise it stays and the new
  // one is dropped. Throws FAIL.
  void Publish(const Staging& staging, std::string_view key, bool replace) const;

  // Lists the entries by key; with `verify` every byte of every entry is checked. A missing folder has no entries. A
  // problem of the folder as a whole is not reported for its entries: CacheTrust reports it. Throws FAIL when the
  // folder can't be read.
  std::vector<Entry> List(bool verify) const;

  // Removes leftovers of processes that have ended. Then removes the least recently used entries until the others have
  // at most `max_bytes` (0: no limit). `keep`: the key of an entry that always stays.
  Removed Trim(uint64_t max_bytes, std::string_view keep) const;
  // Same as Trim, and removes entries that Verify finds broken.
  Removed Collect(uint64_t max_bytes) const;

 private:
  // Returns false when the entry is gone already, or a process is replacing it.
  bool Remove(const Entry& entry) const;
  uint64_t RemoveLeftovers() const;
  void Evict(std::vector<Entry> entries, uint64_t max_bytes, std::string_view keep, Removed* removed) const;

  std::filesystem::path folder_;
};

}  // namespace epiphyte::core
