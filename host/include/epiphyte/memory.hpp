// Memory: a device's memory, in which values can be made and to which outputs can be bound.
//
//   epiphyte::Memory gpu = session.MemoryOf("vulkan");
//   epiphyte::Value image = picture.CopyTo(gpu);                     // there once, for many runs
//   epiphyte::Value cache = epiphyte::Value::In(gpu, epiphyte::ElementType::kFloat, {1, 8, 4096, 64});
//   epiphyte::IoBinding binding(session);
//   binding.BindInput("past", cache);
//   binding.BindOutput("present", cache);                            // stays where it is, nothing is copied
//   binding.BindOutput("logits", gpu);                               // a new value of each run, in that memory
//
// A handle with a reference count. Values in it may outlive session and environment handles. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "epiphyte/export.hpp"

namespace epiphyte {

// Memory that exists, or that others are to use; see Value::Import and Value::Export.
enum class HandleType : uint32_t {
  kHostPointer = 1,
  kDmaBuf = 2,    // Linux: a file descriptor of a dma-buf
  kOpaqueFd = 4,  // a file descriptor between plugins of one vendor, or a memfd
  kWin32 = 8,     // Windows: a shared handle
};

struct ExternalMemory {
  HandleType type = HandleType::kHostPointer;
  void* pointer = nullptr;  // kHostPointer, kWin32
  int64_t handle = -1;      // kDmaBuf, kOpaqueFd
  uint64_t offset = 0;      // where the value begins in it
  uint64_t size = 0;        // bytes from there
};

struct MemoryUse {
  uint64_t value_bytes = 0;  // in values, of all sessions of the environment
  uint64_t kept_bytes = 0;   // in the pool, for later ones
  uint64_t buffers = 0;      // that the plugin has allocated for the pool and not freed
  uint64_t allocations = 0;  // made until now
  uint64_t device_used = 0;  // as the plugin says; 0: not known
  uint64_t device_total = 0;
};

class EPIPHYTE_API Memory {
 public:
  Memory() = default;  // none: host memory

  explicit operator bool() const { return impl_ != nullptr; }
  // Two handles of one memory, whichever session they came from. Both empty: equal.
  bool operator==(const Memory& other) const;

  // --- of none throws INVALID_ARGUMENT
  const std::string& provider() const;
  uint32_t device() const;  // of the provider's devices
  const std::string& name() const;
  bool local() const;     // the device's own, the fast one
  bool mappable() const;  // Value::data works
  bool CanImport(HandleType type) const;
  bool CanExport(HandleType type) const;
  MemoryUse use() const;
  // Frees what the pool keeps for later values.
  void Trim();

 private:
  friend class Access;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace epiphyte
