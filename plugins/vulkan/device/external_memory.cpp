// Import of existing memory as buffers, and export of memory of buffers.
#include <fcntl.h>
#include <unistd.h>

#include <bit>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/vk_memory.h"

namespace epiphyte::vulkan {
namespace {

VkExternalMemoryHandleTypeFlagBits FlagOf(ExternalHandle type) {
  switch (type) {
    case ExternalHandle::kHostPointer: return VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    case ExternalHandle::kOpaqueFd: return VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    case ExternalHandle::kDmaBuf: return VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  }
  return VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
}

// A duplicate of a file descriptor. It is closed unless the driver takes it over.
class Descriptor {
 public:
  explicit Descriptor(int other) : number_(fcntl(other, F_DUPFD_CLOEXEC, 0)) {
    if (number_ < 0)
      kit::FailArgument("file descriptor ", other, " can't be duplicated: it isn't open, or there are too many");
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  void Release() { number_ = -1; }

 private:
  int number_;
};

}  // namespace

std::shared_ptr<Buffer> Memory::AllocateExportable(const std::shared_ptr<Device>& owner, uint64_t bytes,
                                                   ExternalHandle type) {
  device_.ThrowIfLost();
  if (bytes > UINT64_MAX - alignment_) FailMemory(bytes, "an exportable buffer", "no memory holds as many");
  const uint64_t room = RoomFor(bytes);
  const std::shared_ptr<MemoryBlock> block =
      MakeBlock(owner, room, bytes, "an exportable buffer", MemoryUse::kDevice, FlagOf(type));
  const std::lock_guard lock(mutex_);
  block->free.clear();
  used_bytes_ += room;
  return std::make_shared<Buffer>(block, ++last_id_, 0, bytes, block->mapped);
}

ExternalMemory Memory::Export(const Buffer& buffer, ExternalHandle type) {
  device_.ThrowIfLost();
  const MemoryBlock& block = buffer.block();
  if ((block.exports & FlagOf(type)) == 0 || device_.vk.vkGetMemoryFdKHR == nullptr)
    kit::FailArgument(
        "the buffer's memory was not allocated for such a handle; take one of the memory that exports it");
  VkMemoryGetFdInfoKHR info = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR};
  info.memory = block.memory.get();
  info.handleType = FlagOf(type);
  ExternalMemory external = {type, nullptr, -1, buffer.offset_in_block(), block.exported_size};
  device_.Check(device_.vk.vkGetMemoryFdKHR(device_.device, &info, &external.descriptor), "vkGetMemoryFdKHR");
  return external;
}

std::shared_ptr<Buffer> Memory::Import(const std::shared_ptr<Device>& owner, const ExternalMemory& external) {
  device_.ThrowIfLost();
  if (external.size == 0) kit::FailArgument("memory of 0 bytes can't be imported");
  if (external.offset > UINT64_MAX / 2 || external.size > UINT64_MAX / 2)
    kit::FailArgument(external.size, " bytes at ", external.offset, " are more than any memory has");
  return external.type == ExternalHandle::kHostPointer ? ImportPointer(owner, external)
                                                       : ImportDescriptor(owner, external);
}

// Devices import whole pages. The buffer begins at the requested address in them.
std::shared_ptr<Buffer> Memory::ImportPointer(const std::shared_ptr<Device>& owner, const ExternalMemory& external) {
  const uint64_t page = device_.info.host_pointer_alignment;
  if (!device_.info.imports_host_pointers || device_.vk.vkGetMemoryHostPointerPropertiesEXT == nullptr)
    kit::FailArgument(device_.info.name, " imports no host memory");
  if (external.pointer == nullptr) kit::FailArgument("host memory at null can't be imported");
  const uint64_t begin = reinterpret_cast<uintptr_t>(external.pointer) + external.offset;
  const uint64_t first = begin / page * page;
  const uint64_t end = (begin + external.size + page - 1) / page * page;
  if (page > static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) && (first != begin || end != begin + external.size))
    kit::FailArgument("host memory of ", external.size, " bytes at ", begin, ": ", device_.info.name,
                      " imports multiples of ", page, " bytes");
  VkMemoryHostPointerPropertiesEXT properties = {VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  void* const pages = reinterpret_cast<void*>(static_cast<uintptr_t>(first));
  device_.Check(device_.vk.vkGetMemoryHostPointerPropertiesEXT(
                    device_.device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, pages, &properties),
                "vkGetMemoryHostPointerPropertiesEXT");
  const VkImportMemoryHostPointerInfoEXT import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, nullptr,
                                                   VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, pages};
  return ImportBlock(owner, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, end - first, begin - first,
                     external.size, properties.memoryTypeBits, &import,
                     reinterpret_cast<std::byte*>(static_cast<uintptr_t>(begin)));
}

std::shared_ptr<Buffer> Memory::ImportDescriptor(const std::shared_ptr<Device>& owner, const ExternalMemory& external) {
  const bool is_dma_buf = external.type == ExternalHandle::kDmaBuf;
  if (!(is_dma_buf ? device_.info.imports_dma_buf : device_.info.imports_opaque_fd) ||
      device_.vk.vkGetMemoryFdPropertiesKHR == nullptr)
    kit::FailArgument(device_.info.name, " imports no ", is_dma_buf ? "dma-bufs" : "descriptors of memory");
  Descriptor descriptor(external.descriptor);
  uint32_t memory_types = UINT32_MAX;
  if (is_dma_buf) {
    VkMemoryFdPropertiesKHR properties = {VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    device_.Check(
        device_.vk.vkGetMemoryFdPropertiesKHR(device_.device, FlagOf(external.type), descriptor.get(), &properties),
        "vkGetMemoryFdPropertiesKHR");
    memory_types = properties.memoryTypeBits;
  }
  const VkImportMemoryFdInfoKHR import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, nullptr, FlagOf(external.type),
                                          descriptor.get()};
  std::shared_ptr<Buffer> made = ImportBlock(owner, FlagOf(external.type), external.offset + external.size,
                                             external.offset, external.size, memory_types, &import);
  descriptor.Release();
  return made;
}

std::shared_ptr<Buffer> Memory::ImportBlock(const std::shared_ptr<Device>& owner,
                                            VkExternalMemoryHandleTypeFlagBits type, uint64_t allocation,
                                            uint64_t offset, uint64_t size, uint32_t memory_types, const void* import,
                                            std::byte* mapped) {
  const auto block = std::make_shared<MemoryBlock>(*this, owner);
  VkBufferCreateInfo buffer = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  const VkExternalMemoryBufferCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, nullptr,
                                                     static_cast<VkExternalMemoryHandleTypeFlags>(type)};
  buffer.pNext = &external;
  buffer.size = (size + 3) / 4 * 4;  // rounded up to words, because shaders read small elements by words
  buffer.usage = kBufferUsage;
  block->buffer =
      Make<VkBuffer>(device_, device_.vk.vkCreateBuffer, device_.vk.vkDestroyBuffer, buffer, "vkCreateBuffer");
  VkMemoryRequirements requirements;
  device_.vk.vkGetBufferMemoryRequirements(device_.device, block->buffer.get(), &requirements);
  if (offset % requirements.alignment != 0)
    kit::FailArgument("imported memory begins at ", offset, " of its pages or descriptor; ", device_.info.name,
                      " wants multiples of ", requirements.alignment);
  if (allocation - offset < requirements.size)
    kit::FailArgument("imported memory of ", size, " bytes; ", device_.info.name, " wants ", requirements.size,
                      " for a buffer in it");
  const uint32_t allowed = requirements.memoryTypeBits & memory_types;
  if (allowed == 0) kit::FailArgument(device_.info.name, " has no buffers in such memory");
  VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.pNext = import;
  allocate.allocationSize = allocation;
  // Imported host memory must be coherent: the device must see the host's writes without a flush.
  const bool is_of_host = mapped != nullptr;
  int32_t memory_type = TypeFor(is_of_host ? MemoryUse::kDownload : MemoryUse::kDevice, allowed);
  if (memory_type < 0 && is_of_host)
    kit::FailArgument(device_.info.name, " doesn't see what the host writes into such memory");
  if (memory_type < 0) memory_type = std::countr_zero(allowed);
  allocate.memoryTypeIndex = static_cast<uint32_t>(memory_type);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  const VkResult result = device_.vk.vkAllocateMemory(device_.device, &allocate, nullptr, &memory);
  if (result == VK_ERROR_INVALID_EXTERNAL_HANDLE)
    kit::FailArgument(device_.info.name, " can't use that memory: vkAllocateMemory gave ", NameOf(result));
  device_.Check(result, "vkAllocateMemory", "importing memory");
  ++device_.objects;
  block->memory = Owned<VkDeviceMemory>(device_.device, memory, device_.vk.vkFreeMemory);
  device_.Check(device_.vk.vkBindBufferMemory(device_.device, block->buffer.get(), memory, offset),
                "vkBindBufferMemory");
  constexpr VkMemoryPropertyFlags kMappable =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (mapped == nullptr && (properties_.memoryTypes[memory_type].propertyFlags & kMappable) == kMappable) {
    void* all = nullptr;
    device_.Check(device_.vk.vkMapMemory(device_.device, memory, 0, VK_WHOLE_SIZE, 0, &all), "vkMapMemory");
    mapped = static_cast<std::byte*>(all) + offset;
  }
  const std::lock_guard lock(mutex_);
  used_bytes_ += RoomFor(size);
  return std::make_shared<Buffer>(block, ++last_id_, 0, size, mapped);
}

}  // namespace epiphyte::vulkan
