// DeviceMemory: one memory of one device of a plugin, and the pool that values in it are allocated from.
//
//   std::shared_ptr<DeviceAllocation> piece = memory->Take(bytes, account, "output 'y'");
//   ValuePtr y = Value::OnDevice(DataType::kFloat, dims, piece);
//
// The pool keeps returned memory, in size classes, for the next value of any session. Small values share buffers,
// unless the plugin wants whole ones. When the plugin has no memory left, the pools of the device free everything they
// keep and ask the plugin to trim; then the allocation is tried once more. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/device_storage.h"
#include "core/registry/catalog.h"
#include "epiphyte/draft/ep_device.h"

namespace epiphyte::core {

class DeviceMemory;

// Account of the device memory that the values of one session use, with the limit session.max_device_bytes.
// Thread-safe.
class DeviceAccount {
 public:
  explicit DeviceAccount(uint64_t limit = UINT64_MAX) : limit_(limit) {}
  // Returns false, and counts nothing, when the limit would be exceeded.
  bool Take(uint64_t bytes);
  void Give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

// Memory of one value, at least as large as requested. Its destructor returns the memory to the pool, or frees the
// buffer if it is not pooled. Submitted work must not use the memory any more then.
class DeviceAllocation : public DeviceStorage {
 public:
  ~DeviceAllocation() override;
  const std::shared_ptr<DeviceMemory>& pool() const { return pool_; }
  const std::shared_ptr<DeviceAccount>& account() const { return account_; }
  // Object that DeviceMemory::Owner::keep_alive gave when the allocation was made; may be null.
  const std::shared_ptr<void>& keep_alive() const { return keep_alive_; }
  // Whether the device was lost since the allocation was made. Its content is lost then, and nothing may use it any
  // more.
  bool IsLost() const;
  // Throws DEVICE_RESET, naming `what`, when it is lost.
  void RequireAlive(std::string_view what) const;
  // Host address of the first byte; null when the memory isn't mappable. Throws the plugin's error of Map, and
  // DEVICE_RESET.
  void* Map();

 private:
  friend class DeviceMemory;
  struct Slab;  // buffer that several allocations share; freed with the last of them and of the pool's rooms
  DeviceAllocation(std::shared_ptr<DeviceMemory> pool, EpBuffer* buffer, uint64_t offset, uint64_t size);

  std::shared_ptr<void> keep_alive_;  // keeps everything that the pool needs; destroyed last
  std::shared_ptr<DeviceMemory> pool_;
  std::shared_ptr<DeviceAccount> account_;  // null: not counted
  std::shared_ptr<Slab> slab_;              // null: the buffer belongs to this allocation alone
  bool is_owner_ = false;                   // it owns its place in the buffer; set when nothing can fail any more
  uint64_t counted_ = 0;                    // bytes counted as the memory's value bytes and in account_
  uint64_t room_ = 0;                       // size class in the pool; 0: not pooled, so the buffer is freed
  uint64_t generation_ = 0;                 // the device's generation when it was made
  std::shared_ptr<void> external_;          // memory that an imported buffer refers to
};

class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  // `keep_alive`: kept by every allocation so that plugin and pool outlive it; may give null.
  struct Owner {
    const LoadedPlugin* plugin = nullptr;
    const EpDeviceApi* api = nullptr;
    std::weak_ptr<void> keep_alive;
  };
  DeviceMemory(Owner owner, uint32_t device, uint32_t number, const EpMemoryInfo& info);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  const LoadedPlugin& plugin() const { return *owner_.plugin; }
  uint32_t device() const { return device_; }
  uint32_t number() const { return number_; }
  const std::string& name() const { return name_; }
  bool mappable() const { return (flags_ & EP_MEMORY_MAPPABLE) != 0; }
  bool local() const { return (flags_ & EP_MEMORY_LOCAL) != 0; }
  uint32_t import_types() const { return import_types_; }
  uint32_t export_types() const { return export_types_; }
  uint64_t alignment() const { return alignment_; }

  // Allocates memory for a value of `bytes`, which may be 0. Throws OUT_OF_MEMORY, naming `what`, the memory in use
  // and, if it is the cause, the option; DEVICE_RESET; and the plugin's other errors.
  std::shared_ptr<DeviceAllocation> Take(uint64_t bytes, const std::shared_ptr<DeviceAccount>& account,
                                         std::string_view what);
  // Wraps existing memory, which `keep` keeps alive (may be null).
  std::shared_ptr<DeviceAllocation> Import(const EpExternalMemory& external, std::shared_ptr<void> keep);
  // Wraps a buffer that the plugin made itself; it is freed with the allocation. Throws INVALID_ARGUMENT for null, for
  // a buffer that the host has already, and for an offset that does not fit.
  std::shared_ptr<DeviceAllocation> Adopt(EpBuffer* buffer, uint64_t size, uint64_t offset,
                                          const std::shared_ptr<DeviceAccount>& account);
  // Exports the whole buffer of an allocation that doesn't share its buffer (imported, adopted, large). `type`: one
  // EP_HANDLE_… bit. The buffer is not pooled from then on: others may go on using the memory after the value is gone.
  EpExternalMemory Export(DeviceAllocation& piece, EpHandleType type);

  struct Use {
    uint64_t value_bytes = 0;  // used by values
    uint64_t kept_bytes = 0;   // kept by the pool for later values
    uint64_t buffers = 0;      // number of existing buffers
    uint64_t allocations = 0;  // number of calls of Allocate so far
    uint64_t plugin_used = 0;  // reported by GetMemoryUse
    uint64_t plugin_total = 0;
  };
  Use use() const;
  // Frees the memory that the pool keeps.
  void Trim();
  // Called when the device was lost: existing memory is freed with its value and never used again.
  void Lose();
  // Sets all memories of the device, including this one; called once by their creator. Trim (when memory is short) and
  // Lose (when the plugin returns DEVICE_RESET) go to all of them.
  void SetSiblings(std::vector<std::weak_ptr<DeviceMemory>> siblings) { siblings_ = std::move(siblings); }

 private:
  friend class DeviceAllocation;
  struct Kept {  // room that no value uses
    EpBuffer* buffer = nullptr;
    uint64_t offset = 0;
    std::shared_ptr<DeviceAllocation::Slab> slab;
    uint64_t generation = 0;  // the device's generation when it was made
  };
  struct Attempt {
    EpBuffer* buffer = nullptr;  // null: the device has no memory left
    std::string refusal;         // the plugin's message
  };

  uint64_t SizeClass(uint64_t bytes) const;
  bool SharesSlabs(uint64_t room) const;
  // Returns an empty room when none of that size is kept.
  Kept TakeKept(uint64_t room);
  Kept NewRoom(uint64_t room, std::string_view what);
  Kept NewSlab(uint64_t room);
  Attempt TryAllocate(uint64_t size);
  [[noreturn]] void FailOutOfMemory(uint64_t size, std::string_view what, std::string_view refusal) const;
  void CountValue(uint64_t bytes);
  void GiveBack(DeviceAllocation& piece) noexcept;
  void Drop(Kept room) noexcept;
  // Takes over a buffer that the plugin made. Refuses null and a buffer that the host has already.
  void Own(EpBuffer* buffer, const char* function);
  void FreeBuffer(EpBuffer* buffer) noexcept;
  void FreeAll(std::vector<Kept> rooms) noexcept;
  void* MapBuffer(EpBuffer* buffer);
  void CheckHandleType(EpHandleType type, uint32_t possible, const char* verb) const;
  // Calls the plugin; after DEVICE_RESET all memories of the device are told.
  template <typename Call>
  void CallDevice(const char* function, Call&& call);
  template <typename Action>
  void ForSiblings(Action&& action);
  std::string Title() const;  // name in messages: "memory 'arena' of device 'test 0'"
  uint64_t generation() const;

  Owner owner_;
  uint32_t device_;
  uint32_t number_;
  std::string name_;
  uint32_t flags_;
  uint64_t alignment_;
  uint64_t max_buffer_;
  uint32_t import_types_;
  uint32_t export_types_;
  std::vector<std::weak_ptr<DeviceMemory>> siblings_;

  mutable std::mutex mutex_;
  std::map<uint64_t, std::vector<Kept>> kept_;  // key: size class
  std::map<EpBuffer*, void*> mapped_;
  uint64_t generation_ = 0;
  Use use_;
};

}  // namespace epiphyte::core
