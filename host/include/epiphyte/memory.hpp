// Memory: a device's memory. Values can be allocated in it, and outputs can be bound to it.
//
//   epiphyte::Memory gpu = session.MemoryOf("vulkan");
//   epiphyte::Value image = picture.CopyTo(gpu);                     // copied once, for many runs
//   epiphyte::Value cache = epiphyte::Value::In(gpu, epiphyte::ElementType::kFloat, {1, 8, 4096, 64});
//   epiphyte::IoBinding binding(session);
//   binding.BindInput("past", cache);
//   binding.BindOutput("present", cache);                            // stays in device memory, without a copy
//   binding.BindOutput("logits", gpu);                               // a new value in each run, in that memory
//
// A reference-counted handle. Values in the memory may outlive session and environment handles. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "epiphyte/export.hpp"

namespace epiphyte {

// Handle types of external memory; see Value::Import and Value::Export.
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
  uint64_t offset = 0;      // start of the value in the external memory, in bytes
  uint64_t size = 0;        // bytes from `offset`
};

struct MemoryUse {
  uint64_t value_bytes = 0;  // bytes in live values of all sessions of the environment
  uint64_t kept_bytes = 0;   // bytes that the pool keeps for later values
  uint64_t buffers = 0;      // live buffers that the plugin allocated for the pool
  uint64_t allocations = 0;  // number of allocations until now
  uint64_t device_used = 0;  // bytes, reported by the plugin; 0: not known
  uint64_t device_total = 0;
};

class EPIPHYTE_API Memory {
 public:
  Memory() = default;  // an empty handle means host memory

  explicit operator bool() const { return impl_ != nullptr; }
  // True for two handles of one memory, also from different sessions. Two empty handles are equal.
  bool operator==(const Memory& other) const;

  // --- The functions below throw INVALID_ARGUMENT for an empty handle.
  const std::string& provider() const;
  uint32_t device() const;  // index into the provider's devices
  const std::string& name() const;
  bool local() const;     // the device's own, fast memory
  bool mappable() const;  // Value::data works
  bool CanImport(HandleType type) const;
  bool CanExport(HandleType type) const;
  MemoryUse use() const;
  // Frees the memory that the pool keeps for later values.
  void Trim();

 private:
  friend class Access;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace epiphyte
