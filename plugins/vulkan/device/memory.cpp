#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/vk_instance.h"
#include "plugins/vulkan/device/vk_memory.h"

namespace epiphyte::vulkan {
namespace {

constexpr uint64_t kFirstBlock = uint64_t{4} << 20;  // bytes; each further block is twice as large, up to kLargestBlock
constexpr uint64_t kLargestBlock = uint64_t{64} << 20;

}  // namespace

Buffer::Buffer(std::shared_ptr<MemoryBlock> block, uint64_t id, uint64_t offset, uint64_t size, std::byte* mapped,
               std::shared_ptr<MemoryLimit> limit)
    : block_(std::move(block)), limit_(std::move(limit)), id_(id), offset_(offset), size_(size), mapped_(mapped) {}

Buffer::~Buffer() {
  block_->memory_of.Free(*block_, offset_, size_);
  if (limit_ != nullptr) limit_->Give(size_);
}

ExternalMemory Buffer::Export(ExternalHandle type) const { return block_->memory_of.Export(*this, type); }

MemoryBlock::~MemoryBlock() {
  if (accounted > 0) memory_of.Forget(*this);
}

Memory::Memory(DeviceHandles& device) : device_(device) {
  const InstanceHandles& instance = device.instance->handles();
  instance.vk.vkGetPhysicalDeviceMemoryProperties(device.physical, &properties_);
  alignment_ = std::max<uint64_t>(alignment_, device.info.capabilities.buffer_offset_alignment);
  std::ranges::fill(next_block_, kFirstBlock);
}

uint64_t Memory::RoomFor(uint64_t bytes) const {
  return (std::max<uint64_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
}

int32_t Memory::TypeFor(MemoryUse use, uint32_t allowed) const {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kMapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  // Memory properties: required, preferred, and preferably absent.
  VkMemoryPropertyFlags must = kMapped;
  VkMemoryPropertyFlags wanted = 0;
  VkMemoryPropertyFlags unwanted = kLocal;
  if (use == MemoryUse::kDownload) wanted = kCached;
  if (use == MemoryUse::kDevice) {
    const bool unified = device_.info.unified_memory;
    must = unified ? kLocal | kMapped | kCached : kLocal;
    unwanted = unified ? 0 : kMapped;
  }
  int32_t best = -1;
  int best_score = 0;
  for (uint32_t i = 0; i < properties_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = properties_.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) == 0 || (flags & must) != must) continue;
    if ((flags & (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT)) != 0) continue;
    const int score = 1 + 2 * ((flags & wanted) == wanted) + ((flags & unwanted) == 0);
    if (score > best_score) {
      best = static_cast<int32_t>(i);
      best_score = score;
    }
  }
  return best;
}

void Memory::FailMemory(uint64_t bytes, std::string_view what, std::string_view why) const {
  const DeviceInfo& info = device_.info;
  uint64_t allocated = 0;
  uint64_t allocations = 0;
  {
    const std::lock_guard lock(mutex_);
    allocated = allocated_bytes_;
    allocations = allocations_;
  }
  kit::FailWith(EP_STATUS_OUT_OF_MEMORY, what, ": ", bytes, " bytes of memory of ", info.name, " were asked for: ", why,
                "; ", allocated, " bytes are in use, in ", allocations, " allocations; the device has ", info.local_memory);
}

std::shared_ptr<MemoryBlock> Memory::MakeBlock(const std::shared_ptr<Device>& owner, uint64_t bytes, uint64_t asked,
                                               std::string_view what, MemoryUse use,
                                               VkExternalMemoryHandleTypeFlags exports) {
  DeviceHandles& device = device_;
  const DeviceInfo& info = device.info;
  if (info.max_allocation > 0 && bytes > info.max_allocation)
    FailMemory(asked, what, kit::TextOf("one allocation has at most ", info.max_allocation, " bytes"));
  if (use == MemoryUse::kDevice && bytes > info.local_memory) FailMemory(asked, what, "it hasn't as many");

  const auto block = std::make_shared<MemoryBlock>(*this, owner);
  {
    const std::lock_guard lock(mutex_);
    block->accounted = bytes;
    allocated_bytes_ += bytes;
    ++allocations_;
  }

  VkBufferCreateInfo buffer = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  buffer.size = bytes;
  buffer.usage = kBufferUsage;
  const VkExternalMemoryBufferCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, nullptr,
                                                     exports};
  if (exports != 0) buffer.pNext = &external;
  block->buffer = Make<VkBuffer>(device, device.vk.vkCreateBuffer, device.vk.vkDestroyBuffer, buffer, "vkCreateBuffer");
  VkMemoryRequirements requirements;
  device.vk.vkGetBufferMemoryRequirements(device.device, block->buffer.get(), &requirements);
  const int32_t type = TypeFor(use, requirements.memoryTypeBits);
  if (type < 0) FailMemory(asked, what, "it has no memory that buffers can be in");

  VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = requirements.size;
  allocate.memoryTypeIndex = static_cast<uint32_t>(type);
  const VkExportMemoryAllocateInfo exportable = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, nullptr, exports};
  if (exports != 0) allocate.pNext = &exportable;
  block->exports = exports;
  block->exported_size = requirements.size;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  const VkResult result = device.vk.vkAllocateMemory(device.device, &allocate, nullptr, &memory);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    FailMemory(asked, what, "vkAllocateMemory failed with " + NameOf(result));
  device.Check(result, "vkAllocateMemory");
  ++device.objects;
  block->memory = Owned<VkDeviceMemory>(device.device, memory, device.vk.vkFreeMemory);
  device.Check(device.vk.vkBindBufferMemory(device.device, block->buffer.get(), memory, 0), "vkBindBufferMemory");
  if (use != MemoryUse::kDevice || info.unified_memory) {
    void* mapped = nullptr;
    device.Check(device.vk.vkMapMemory(device.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
    block->mapped = static_cast<std::byte*>(mapped);
  }
  block->free[0] = bytes;
  return block;
}

std::shared_ptr<Buffer> Memory::Allocate(const std::shared_ptr<Device>& owner, uint64_t bytes, std::string_view what,
                                         MemoryUse use, std::shared_ptr<MemoryLimit> limit) {
  device_.ThrowIfLost();
  if (limit != nullptr && !limit->Take(bytes))
    FailMemory(bytes, what, kit::TextOf("the limit is ", limit->bytes(), " bytes, ", limit->used(), " are taken"));
  std::shared_ptr<Buffer> made;
  try {
    made = AllocateIn(owner, bytes, what, use, limit);
  } catch (...) {
    if (limit != nullptr) limit->Give(bytes);
    throw;
  }
  return made;
}

std::shared_ptr<Buffer> Memory::AllocateIn(const std::shared_ptr<Device>& owner, uint64_t bytes, std::string_view what,
                                           MemoryUse use, const std::shared_ptr<MemoryLimit>& limit) {
  if (bytes > UINT64_MAX - alignment_) FailMemory(bytes, what, "no memory holds as many");
  const uint64_t room = RoomFor(bytes);
  const size_t pool = static_cast<size_t>(use);
  const auto take = [&](const std::shared_ptr<MemoryBlock>& block) -> std::shared_ptr<Buffer> {
    for (auto gap = block->free.begin(); gap != block->free.end(); ++gap) {
      if (gap->second < room) continue;
      const auto [offset, size] = *gap;
      block->free.erase(gap);
      if (size > room) block->free[offset + room] = size - room;
      used_bytes_ += room;
      return std::make_shared<Buffer>(block, ++last_id_, offset, bytes,
                                      block->mapped == nullptr ? nullptr : block->mapped + offset, limit);
    }
    return nullptr;
  };

  uint64_t block_bytes = room;
  bool divided = false;
  {
    // A block that only `held` owns must be destroyed after the lock is released.
    std::vector<std::shared_ptr<MemoryBlock>> held;
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < shared_[pool].size() && owner != nullptr; ++i) {
      held.push_back(shared_[pool][i].lock());
      if (held.back() == nullptr) continue;
      if (auto buffer = take(held.back())) return buffer;
    }
    std::erase_if(shared_[pool], [](const auto& block) { return block.expired(); });
    divided = owner != nullptr && room <= next_block_[pool] / 4;
    if (divided) {
      block_bytes = next_block_[pool];
      next_block_[pool] = std::min(2 * next_block_[pool], kLargestBlock);
    }
  }

  const std::shared_ptr<MemoryBlock> block = MakeBlock(owner, block_bytes, bytes, what, use);
  const std::lock_guard lock(mutex_);
  if (divided) shared_[pool].push_back(block);
  return take(block);
}

void Memory::Free(MemoryBlock& block, uint64_t offset, uint64_t bytes) {
  const uint64_t room = RoomFor(bytes);
  const std::lock_guard lock(mutex_);
  used_bytes_ -= room;
  auto [gap, added] = block.free.emplace(offset, room);
  if (const auto next = std::next(gap); next != block.free.end() && gap->first + gap->second == next->first) {
    gap->second += next->second;
    block.free.erase(next);
  }
  if (gap != block.free.begin()) {
    const auto previous = std::prev(gap);
    if (previous->first + previous->second == gap->first) {
      previous->second += gap->second;
      block.free.erase(gap);
    }
  }
}

void Memory::Forget(const MemoryBlock& block) {
  const std::lock_guard lock(mutex_);
  allocated_bytes_ -= block.accounted;
  --allocations_;
}

void Memory::Count(DeviceCounters& counters) const {
  const std::lock_guard lock(mutex_);
  counters.allocations = allocations_;
  counters.allocated_bytes = allocated_bytes_;
  counters.used_bytes = used_bytes_;
}

}  // namespace epiphyte::vulkan
