// Memory: pieces of few large allocations of a device's. Of device/ only.
#pragma once

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
  std::map<uint64_t, uint64_t> free;  // offset → bytes; under Memory's mutex
};

class Memory {
 public:
  explicit Memory(DeviceHandles& device);

  // The buffer keeps the device open, unless `owner` is null: then it is the device's own, in a block of its own.
  std::shared_ptr<Buffer> Allocate(const std::shared_ptr<Device>& owner, uint64_t bytes, std::string_view what,
                                   MemoryUse use);
  // Of a Buffer that goes away, and of a block.
  void Free(MemoryBlock& block, uint64_t offset, uint64_t bytes);
  void Forget(const MemoryBlock& block);

  void Count(DeviceCounters& counters) const;

 private:
  // For `asked` bytes, of which errors speak.
  std::shared_ptr<MemoryBlock> MakeBlock(const std::shared_ptr<Device>& owner, uint64_t bytes, uint64_t asked,
                                         std::string_view what, MemoryUse use);
  int32_t TypeFor(MemoryUse use, uint32_t allowed) const;
  [[noreturn]] void FailMemory(uint64_t bytes, std::string_view what, std::string_view why) const;

  DeviceHandles& device_;
  VkPhysicalDeviceMemoryProperties properties_ = {};
  uint64_t alignment_ = 256;

  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<MemoryBlock>> shared_[3];  // by MemoryUse: blocks that are divided
  uint64_t next_block_[3];                             // bytes of the next one
  uint64_t allocations_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint64_t used_bytes_ = 0;
};

}  // namespace epiphyte::vulkan
