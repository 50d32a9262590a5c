// Memory: allocates buffers as ranges of few large allocations of a device. Internal to device/.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "plugins/vulkan/device/vk_device.h"

namespace epiphyte::vulkan {

class Memory;

// One allocation, with a VkBuffer over all of it. It is freed with the last Buffer in it.
struct MemoryBlock {
  MemoryBlock(Memory& from, std::shared_ptr<Device> held) : memory_of(from), keeps_open(std::move(held)) {}
  ~MemoryBlock();

  Memory& memory_of;
  const std::shared_ptr<Device> keeps_open;  // null if the block belongs to the device itself
  Owned<VkDeviceMemory> memory;
  Owned<VkBuffer> buffer;
  std::byte* mapped = nullptr;
  uint64_t accounted = 0;      // bytes that Memory counts for the block
  uint64_t exported_size = 0;  // bytes of the whole allocation, for Export
  VkExternalMemoryHandleTypeFlags exports = 0;
  std::map<uint64_t, uint64_t> free;  // free ranges, offset → bytes; guarded by Memory's mutex
};

class Memory {
 public:
  explicit Memory(DeviceHandles& device);

  DeviceHandles& device() const { return device_; }

  // The buffer keeps the device open. If `owner` is null, the buffer belongs to the device itself and has a block of
  // its own.
  std::shared_ptr<Buffer> Allocate(const std::shared_ptr<Device>& owner, uint64_t bytes, std::string_view what,
                                   MemoryUse use, std::shared_ptr<MemoryLimit> limit = {});
  std::shared_ptr<Buffer> AllocateExportable(const std::shared_ptr<Device>& owner, uint64_t bytes, ExternalHandle type);
  std::shared_ptr<Buffer> Import(const std::shared_ptr<Device>& owner, const ExternalMemory& external);
  ExternalMemory Export(const Buffer& buffer, ExternalHandle type);
  // Free takes back the range of a Buffer that is destroyed. Forget uncounts a block that is destroyed.
  void Free(MemoryBlock& block, uint64_t offset, uint64_t bytes);
  void Forget(const MemoryBlock& block);

  void Count(DeviceCounters& counters) const;

 private:
  std::shared_ptr<Buffer> AllocateIn(const std::shared_ptr<Device>& owner, uint64_t bytes, std::string_view what,
                                     MemoryUse use, const std::shared_ptr<MemoryLimit>& limit);
  // Allocates a block. Errors name `asked`, the bytes that the caller wanted. `exports`: the handle types that Export
  // is to give; 0: none.
  std::shared_ptr<MemoryBlock> MakeBlock(const std::shared_ptr<Device>& owner, uint64_t bytes, uint64_t asked,
                                         std::string_view what, MemoryUse use,
                                         VkExternalMemoryHandleTypeFlags exports = 0);
  // Makes a buffer over imported memory. `import` is chained to VkMemoryAllocateInfo.
  std::shared_ptr<Buffer> ImportBlock(const std::shared_ptr<Device>& owner, VkExternalMemoryHandleTypeFlagBits type,
                                      uint64_t allocation, uint64_t offset, uint64_t size, uint32_t memory_types,
                                      const void* import, std::byte* mapped = nullptr);
  std::shared_ptr<Buffer> ImportPointer(const std::shared_ptr<Device>& owner, const ExternalMemory& external);
  std::shared_ptr<Buffer> ImportDescriptor(const std::shared_ptr<Device>& owner, const ExternalMemory& external);
  int32_t TypeFor(MemoryUse use, uint32_t allowed) const;
  // Bytes that a buffer occupies in a block, with alignment. `bytes` must not exceed UINT64_MAX - alignment_.
  uint64_t RoomFor(uint64_t bytes) const;
  [[noreturn]] void FailMemory(uint64_t bytes, std::string_view what, std::string_view why) const;

  DeviceHandles& device_;
  VkPhysicalDeviceMemoryProperties properties_ = {};
  uint64_t alignment_ = 256;

  std::atomic<uint64_t> last_id_ = 0;  // last id that a buffer got
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<MemoryBlock>> shared_[3];  // by MemoryUse: blocks that buffers share
  uint64_t next_block_[3];                             // by MemoryUse: bytes of the next shared block
  uint64_t allocations_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint64_t used_bytes_ = 0;
};

}  // namespace epiphyte::vulkan
