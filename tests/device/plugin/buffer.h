// Buffer: a piece of a device's memory. Its handle is an odd number that faults when it is dereferenced. Only the
// device knows the address of the bytes. Device memory lies between two inaccessible guard pages.
//
//   std::shared_ptr<Buffer> buffer = Buffer::InArena(4096);
//   int descriptor = buffer->Descriptor(&offset);   // the caller's; another plugin makes a buffer over it
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "epiphyte/ep_value.h"

namespace epiphyte::test::device {

// Part of a buffer that submitted work reads or writes, until it is done.
struct PendingUse {
  uint64_t stream = 0;
  uint64_t sequence = 0;  // number of the work in its stream
  uint64_t offset = 0;
  uint64_t size = 0;
  bool write = false;
};

class Buffer {
 public:
  // Memory behind a memfd, owned by the buffer, for "arena". Throws OUT_OF_MEMORY.
  static std::shared_ptr<Buffer> InArena(uint64_t size);
  // Host-visible memory, owned by the buffer, for "shared". Throws OUT_OF_MEMORY.
  static std::shared_ptr<Buffer> Shared(uint64_t size);
  // A second mapping of the descriptor's memory. The descriptor stays the caller's. Throws INVALID_ARGUMENT.
  static std::shared_ptr<Buffer> OverDescriptor(int64_t descriptor, uint64_t offset, uint64_t size);
  // The host's memory. Throws INVALID_ARGUMENT.
  static std::shared_ptr<Buffer> OverPointer(void* pointer, uint64_t offset, uint64_t size);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  EpBuffer* handle() const;
  static uint64_t IdOf(const EpBuffer* handle);  // 0: no handle of a buffer
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  bool imported() const { return imported_; }
  // A new descriptor of the memory, the caller's to close, in which the buffer begins at `offset`; -1: it has none.
  int Descriptor(uint64_t* offset) const;

  // Set once, by the code that hands out the buffer.
  uint32_t device = 0;
  uint32_t memory = 0;
  uint64_t generation = 0;  // number of losses of the device until then

  std::vector<PendingUse> pending;  // guarded by the plugin's mutex

 private:
  Buffer();
  static std::shared_ptr<Buffer> Own(uint64_t size, bool has_descriptor);

  const uint64_t id_;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  void* mapping_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  int descriptor_ = -1;
  uint64_t descriptor_offset_ = 0;
  bool imported_ = false;
};

}  // namespace epiphyte::test::device
