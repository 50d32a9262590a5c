// Buffer is a piece of a device's memory. Its handle is an odd number that faults when it is dereferenced. Only the
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

// A part of a buffer that submitted work reads or writes. The entry exists until the work is done.
struct PendingUse {
  uint64_t stream = 0;
  uint64_t sequence = 0;  // sequence number of the work in its stream
  uint64_t offset = 0;
  uint64_t size = 0;
  bool write = false;
};

class Buffer {
 public:
  // Makes memory behind a memfd for "arena". The buffer owns it. Throws OUT_OF_MEMORY.
  static std::shared_ptr<Buffer> InArena(uint64_t size);
  // Makes host-visible memory for "shared". The buffer owns it. Throws OUT_OF_MEMORY.
  static std::shared_ptr<Buffer> Shared(uint64_t size);
  // Maps the descriptor's memory a second time. The caller keeps the descriptor. Throws INVALID_ARGUMENT.
  static std::shared_ptr<Buffer> OverDescriptor(int64_t descriptor, uint64_t offset, uint64_t size);
  // Makes a buffer over host memory, which the host owns. Throws INVALID_ARGUMENT.
  static std::shared_ptr<Buffer> OverPointer(void* pointer, uint64_t offset, uint64_t size);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  EpBuffer* handle() const;
  static uint64_t IdOf(const EpBuffer* handle);  // 0 if the handle is none of a buffer
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  bool imported() const { return imported_; }
  // Returns a new descriptor of the memory, which the caller closes; the buffer begins there at `offset`. -1: there is
  // none.
  int Descriptor(uint64_t* offset) const;

  // The next three members are set once, by the code that hands out the buffer.
  uint32_t device = 0;
  uint32_t memory = 0;
  uint64_t generation = 0;  // number of losses of the device up to then

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
