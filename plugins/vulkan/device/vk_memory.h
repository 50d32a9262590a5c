// Memory: pieces of few large allocations of a device's. Of device/ only.
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

// One allocation, with a VkBuffer over all of it, freed with its last piece.
struct MemoryBlock {
  MemoryBlock(Memory& from, std::shared_ptr<Device> held) : memory_of(from), keeps_open(std::move(held)) {}
  ~MemoryBlock();

  Memory& memory_of;
  const std::shared_ptr<Device> keeps_open;  // null: it is the device's own
  Owned<VkDeviceMemory> memory;
  Owned<VkBuffer> buffer;
  std::byte* mapped = nullptr;
  uint64_t accounted = 0;           // bytes that Memory counts for it
  uint64_t exported_size = 0;       // size of the allocation if Export gives it
  VkExternalMemoryHandleTypeFlags exports = 0;
  std::map<uint64_t, uint64_t> free;  // offset → bytes; under Memory's mutex
};

class Memory {
 public:
  explicit Memory(DeviceHandles& device);

  DeviceHandles& device() const { return device_; }

  // The buffer keeps the device open, unless `owner` is null: then it is the device's own, in a block of its own.
  std::shared_ptr<Buffer> Allocate(const std::shared_ptr<Device>& owner, uint64_t bytes, std::string_view what,
                                   MemoryUse use, std::shared_ptr<MemoryLimit> limit = {});
  std::shared_ptr<Buffer> AllocateExportable(const std::shared_ptr<Device>& owner, uint64_t bytes, ExternalHandle type);
  std::shared_ptr<Buffer> Import(const std::shared_ptr<Device>& owner, const ExternalMemory& external);
  ExternalMemory Export(const Buffer& buffer, ExternalHandle type);
  // Free returns the range of a Buffer that goes away; Forget removes a block that goes away.
  void Free(MemoryBlock& block, uint64_t offset, uint64_t bytes);
  void Forget(const MemoryBlock& block);

  void Count(DeviceCounters& counters) const;

 private:
  std::shared_ptr<Buffer> AllocateIn(const std::shared_ptr<Device>& owner, uint64_t bytes, std::string_view what,
                                     MemoryUse use, const std::shared_ptr<MemoryLimit>& limit);
  // For `asked` bytes, of which errors speak. `exports`: the handle types that Export is to give of it; 0: none.
  std::shared_ptr<MemoryBlock> MakeBlock(const std::shared_ptr<Device>& owner, uint64_t bytes, uint64_t asked,
                                         std::string_view what, MemoryUse use,
                                         VkExternalMemoryHandleTypeFlags exports = 0);
  // With memory of others: `import` is what follows VkMemoryAllocateInfo.
  std::shared_ptr<Buffer> ImportBlock(const std::shared_ptr<Device>& owner, VkExternalMemoryHandleTypeFlagBits type,
                                      uint64_t allocation, uint64_t offset, uint64_t size, uint32_t memory_types,
                                      const void* import, std::byte* mapped = nullptr);
  std::shared_ptr<Buffer> ImportPointer(const std::shared_ptr<Device>& owner, const ExternalMemory& external);
  std::shared_ptr<Buffer> ImportDescriptor(const std::shared_ptr<Device>& owner, const ExternalMemory& external);
  int32_t TypeFor(MemoryUse use, uint32_t allowed) const;
  // Bytes that a buffer occupies in a block, with alignment. `bytes` must be within the device's limits.
  uint64_t RoomFor(uint64_t bytes) const;
  [[noreturn]] void FailMemory(uint64_t bytes, std::string_view what, std::string_view why) const;

  DeviceHandles& device_;
  VkPhysicalDeviceMemoryProperties properties_ = {};
  uint64_t alignment_ = 256;

  std::atomic<uint64_t> last_id_ = 0;  // last id that a buffer got
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<MemoryBlock>> shared_[3];  // by MemoryUse: blocks that are divided
  uint64_t next_block_[3];                             // bytes of the next one
  uint64_t allocations_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint64_t used_bytes_ = 0;
};

}  // namespace epiphyte::vulkan
