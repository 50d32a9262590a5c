// DeviceMemory: one memory of one device of a plugin, and the pool from which values in it are made.
//
//   std::shared_ptr<DeviceAllocation> piece = memory->Take(bytes, account, "output 'y'");
//   ValuePtr y = Value::OnDevice(DataType::kFloat, dims, piece);
//
// The pool keeps what is given back, in size classes, for the next value of any session; small values share buffers,
// unless the plugin wants whole ones. When the plugin has no memory left, everything that the pools of the device keep
// is freed, the plugin is asked to trim, and the allocation is tried once more. Thread-safe.
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

// What the values of one session may have of device memory: session.max_device_bytes. Thread-safe.
class DeviceAccount {
 public:
  explicit DeviceAccount(uint64_t limit = UINT64_MAX) : limit_(limit) {}
  // False, and nothing is counted, when it would be too much.
  bool Take(uint64_t bytes);
  void Give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

// One value's piece, at least as large as was asked for. Its destructor gives it back to the pool, or frees the buffer
// when it is no pool's: nothing that was submitted may use it then.
class DeviceAllocation : public DeviceStorage {
 public:
  ~DeviceAllocation() override;
  const std::shared_ptr<DeviceMemory>& pool() const { return pool_; }
  const std::shared_ptr<DeviceAccount>& account() const { return account_; }
  // What DeviceMemory::Owner::keep_alive gave when the piece was made; may be null.
  const std::shared_ptr<void>& keep_alive() const { return keep_alive_; }
  // The device was lost since it was made, and what it held with it: nothing may use it any more.
  bool IsLost() const;
  // Throws DEVICE_RESET, which names `what`, when it is lost.
  void RequireAlive(std::string_view what) const;
  // The host's address of its first byte; null when the memory isn't mappable. Throws what Map gives, and DEVICE_RESET.
  void* Map();

 private:
  friend class DeviceMemory;
  struct Slab;  // a buffer that several pieces share; freed with the last of them and of the pool's
  DeviceAllocation(std::shared_ptr<DeviceMemory> pool, EpBuffer* buffer, uint64_t offset, uint64_t size);

  std::shared_ptr<void> keep_alive_;  // what the pool needs: goes last
  std::shared_ptr<DeviceMemory> pool_;
  std::shared_ptr<DeviceAccount> account_;  // null: counted nowhere
  std::shared_ptr<Slab> slab_;              // null: the buffer is this piece's alone
  bool is_owner_ = false;                   // of its place in the buffer: set when nothing can fail any more
  uint64_t counted_ = 0;                    // of the memory's value bytes, and in account_
  uint64_t room_ = 0;                       // of the pool, its size class; 0: no pool's, free the buffer
  uint64_t generation_ = 0;                 // of the device when it was made
  std::shared_ptr<void> external_;          // what an imported buffer is over
};

class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  // `keep_alive`: gives what every piece keeps so that plugin and pool outlive it; may give null.
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

  // Room for a value of `bytes`, which may be 0. Throws OUT_OF_MEMORY, with `what` it was for, what is in use, and the
  // option where that is the cause; DEVICE_RESET and whatever else the plugin gives.
  std::shared_ptr<DeviceAllocation> Take(uint64_t bytes, const std::shared_ptr<DeviceAccount>& account,
                                         std::string_view what);
  // A piece over memory that exists, which `keep` keeps (may be null).
  std::shared_ptr<DeviceAllocation> Import(const EpExternalMemory& external, std::shared_ptr<void> keep);
  // A piece of a buffer that the plugin made by itself, which is freed with it. Throws INVALID_ARGUMENT for a buffer
  // that the host has already, for null, and for an offset that does not fit.
  std::shared_ptr<DeviceAllocation> Adopt(EpBuffer* buffer, uint64_t size, uint64_t offset,
                                          const std::shared_ptr<DeviceAccount>& account);
  // The whole buffer of a piece that is a buffer of its own (imported, adopted, large); `type`: one EP_HANDLE_… bit.
  // From then on it is no pool's: others may go on using the memory when the value is gone.
  EpExternalMemory Export(DeviceAllocation& piece, EpHandleType type);

  struct Use {
    uint64_t value_bytes = 0;  // in values
    uint64_t kept_bytes = 0;   // in the pool, for later ones
    uint64_t buffers = 0;      // that exist
    uint64_t allocations = 0;  // calls of Allocate until now
    uint64_t plugin_used = 0;  // as GetMemoryUse says
    uint64_t plugin_total = 0;
  };
  Use use() const;
  // Frees what the pool keeps.
  void Trim();
  // The device was lost: what exists is freed when its value goes and never used again.
  void Lose();
  // All memories of the device, this one too; set once by whoever makes them: Trim when memory is short, and Lose when
  // the plugin says DEVICE_RESET, go to all of them.
  void SetSiblings(std::vector<std::weak_ptr<DeviceMemory>> siblings) { siblings_ = std::move(siblings); }

 private:
  friend class DeviceAllocation;
  struct Kept {  // room that no value has
    EpBuffer* buffer = nullptr;
    uint64_t offset = 0;
    std::shared_ptr<DeviceAllocation::Slab> slab;
    uint64_t generation = 0;  // of the device when it was made
  };
  struct Attempt {
    EpBuffer* buffer = nullptr;  // null: there was no memory
    std::string refusal;         // as the plugin said it
  };

  uint64_t SizeClass(uint64_t bytes) const;
  bool SharesSlabs(uint64_t room) const;
  // Empty when nothing is kept of that size.
  Kept TakeKept(uint64_t room);
  Kept NewRoom(uint64_t room, std::string_view what);
  Kept NewSlab(uint64_t room);
  Attempt TryAllocate(uint64_t size);
  [[noreturn]] void FailOutOfMemory(uint64_t size, std::string_view what, std::string_view refusal) const;
  void CountValue(uint64_t bytes);
  void GiveBack(DeviceAllocation& piece) noexcept;
  void Drop(Kept room) noexcept;
  // Of what the plugin made: null and what the host has already are refused.
  void Own(EpBuffer* buffer, const char* function);
  void FreeBuffer(EpBuffer* buffer) noexcept;
  void FreeAll(std::vector<Kept> rooms) noexcept;
  void* MapBuffer(EpBuffer* buffer);
  void CheckHandleType(EpHandleType type, uint32_t possible, const char* verb) const;
  // Calls the plugin; DEVICE_RESET tells all memories of the device.
  template <typename Call>
  void CallDevice(const char* function, Call&& call);
  template <typename Action>
  void ForSiblings(Action&& action);
  std::string Title() const;  // "memory 'arena' of device 'test 0'"
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
  std::map<uint64_t, std::vector<Kept>> kept_;  // by size class
  std::map<EpBuffer*, void*> mapped_;
  uint64_t generation_ = 0;
  Use use_;
};

}  // namespace epiphyte::core
