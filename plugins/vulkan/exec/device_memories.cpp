#include "plugins/vulkan/exec/device_memories.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/program/memory_plan.h"

namespace epiphyte::vulkan {
namespace {

EpMemoryInfo Memory(const DeviceInfo& info, const char* name, uint32_t flags) {
  EpMemoryInfo memory = {};
  memory.struct_size = sizeof(memory);
  memory.flags = flags;
  memory.name = name;
  memory.alignment = std::max<uint64_t>(kTensorAlignment, info.capabilities.buffer_offset_alignment);
  memory.max_buffer = info.max_allocation;
  return memory;
}

std::vector<EpMemoryInfo> MemoriesOf(const DeviceInfo& info) {
  const uint32_t mappable = info.unified_memory ? EP_MEMORY_MAPPABLE : 0;
  std::vector<EpMemoryInfo> memories = {Memory(info, "device", EP_MEMORY_LOCAL | mappable)};
  if (info.imports_opaque_fd) memories[0].import_types |= EP_HANDLE_OPAQUE_FD;
  if (info.imports_dma_buf) memories[0].import_types |= EP_HANDLE_DMA_BUF;
  if (!info.unified_memory) memories.push_back(Memory(info, "host", EP_MEMORY_MAPPABLE));
  // Host memory is imported into the memory that the host can map.
  if (info.imports_host_pointers) memories.back().import_types |= EP_HANDLE_HOST_POINTER;
  const auto exports = [&](const char* name, uint32_t type) {
    EpMemoryInfo memory = Memory(info, name, EP_MEMORY_LOCAL | EP_MEMORY_WHOLE | mappable);
    memory.export_types = type;
    memories.push_back(memory);
  };
  if (info.exports_opaque_fd) exports("exported", EP_HANDLE_OPAQUE_FD);
  if (info.exports_dma_buf) exports("exported dma-buf", EP_HANDLE_DMA_BUF);
  return memories;
}

ExternalHandle HandleOf(EpHandleType type) {
  if (type == EP_HANDLE_HOST_POINTER) return ExternalHandle::kHostPointer;
  return type == EP_HANDLE_DMA_BUF ? ExternalHandle::kDmaBuf : ExternalHandle::kOpaqueFd;
}

StreamCopy::End EndOf(const EpCopyEnd& end) {
  if (end.buffer == nullptr) return {nullptr, 0, end.data};
  return {kit::BufferOf<DeviceBuffer>(end.buffer).buffer.get(), end.offset, nullptr};
}

}  // namespace

void DeviceStream::Copy(std::span<const EpCopy> copies) {
  copies_.clear();
  for (const EpCopy& copy : copies) copies_.push_back({EndOf(copy.from), EndOf(copy.to), copy.size});
  stream_.Copy(copies_);
}

void DeviceStream::Wait(kit::DeviceStream& other, uint64_t point) {
  stream_.WaitFor(static_cast<DeviceStream&>(other).stream_, point);
}

DeviceMemories::DeviceMemories(const Instance& instance, DevicePool& devices) : devices_(devices) {
  for (const DeviceInfo& info : instance.devices()) listed_.push_back({MemoriesOf(info), info.local_memory});
}

const DeviceMemories::Listed& DeviceMemories::At(uint32_t device) const {
  if (device >= listed_.size()) kit::FailArgument("device ", device, " of ", listed_.size());
  return listed_[device];
}

const EpMemoryInfo& DeviceMemories::At(uint32_t device, uint32_t memory) const {
  const std::vector<EpMemoryInfo>& memories = At(device).memories;
  if (memory >= memories.size()) kit::FailArgument("memory ", memory, " of a device that has ", memories.size());
  return memories[memory];
}

uint32_t DeviceMemories::SetOf(uint32_t device) const { return ((1u << At(device).memories.size()) - 1) << 1; }

std::span<const EpMemoryInfo> DeviceMemories::Memories(uint32_t device) { return At(device).memories; }

EpMemoryUse DeviceMemories::MemoryUse(uint32_t device, uint32_t memory) {
  EpMemoryUse use = {};
  const bool is_local = (At(device, memory).flags & EP_MEMORY_LOCAL) != 0;
  use.total_bytes = is_local ? At(device).total_bytes : 0;
  // Counts all allocations in any memory, including weights and intermediate values.
  if (const std::shared_ptr<Device> open = devices_.Opened(device)) use.used_bytes = open->counters().allocated_bytes;
  if (use.total_bytes != 0) use.used_bytes = std::min(use.used_bytes, use.total_bytes);
  return use;
}

std::unique_ptr<kit::DeviceBuffer> DeviceMemories::Allocate(uint32_t device, uint32_t memory, uint64_t size) {
  const EpMemoryInfo& info = At(device, memory);
  const std::shared_ptr<Device> open = devices_.Get(device);
  if (info.export_types != 0)
    return std::make_unique<DeviceBuffer>(open->AllocateExportable(size, HandleOf(info.export_types)));
  const bool is_local = (info.flags & EP_MEMORY_LOCAL) != 0;
  return std::make_unique<DeviceBuffer>(
      open->Allocate(size, "values", is_local ? vulkan::MemoryUse::kDevice : vulkan::MemoryUse::kDownload));
}

std::unique_ptr<kit::DeviceBuffer> DeviceMemories::Import(uint32_t device, uint32_t memory,
                                                          const EpExternalMemory& external) {
  const EpMemoryInfo& info = At(device, memory);
  if ((info.import_types & external.type) == 0 || (external.type & (external.type - 1)) != 0)
    kit::FailArgument("handle type ", external.type, " found, memory '", info.name, "' of this device imports ",
                      info.import_types == 0 ? "none" : kit::TextOf("the types ", info.import_types));
  if (external.handle < INT32_MIN || external.handle > INT32_MAX)
    kit::FailArgument(external.handle, " is no file descriptor");
  ExternalMemory given;
  given.type = HandleOf(external.type);
  given.pointer = external.pointer;
  given.descriptor = static_cast<int>(external.handle);
  given.offset = external.offset;
  given.size = external.size;
  return std::make_unique<DeviceBuffer>(devices_.Get(device)->Import(given));
}

EpExternalMemory DeviceMemories::Export(kit::DeviceBuffer& buffer, EpHandleType type) {
  if (type != EP_HANDLE_OPAQUE_FD && type != EP_HANDLE_DMA_BUF)
    kit::FailArgument("handle type ", type, " found; memory is exported as OPAQUE_FD (4) or DMA_BUF (2)");
  const std::shared_ptr<Buffer>& mine = static_cast<DeviceBuffer&>(buffer).buffer;
  const ExternalMemory given = mine->Export(HandleOf(type));
  EpExternalMemory external = {};
  external.type = type;
  external.handle = given.descriptor;
  external.offset = given.offset;
  external.size = given.size;
  return external;
}

void* DeviceMemories::Map(kit::DeviceBuffer& buffer) {
  std::byte* const mapped = static_cast<DeviceBuffer&>(buffer).buffer->mapped();
  if (mapped == nullptr) kit::FailArgument("the host can't reach that buffer's memory; take one of a MAPPABLE memory");
  return mapped;
}

void DeviceMemories::Trim(uint32_t device) {
  if (const std::shared_ptr<Device> open = devices_.Opened(device)) open->Trim();
}

std::unique_ptr<kit::DeviceStream> DeviceMemories::CreateStream(uint32_t device) {
  At(device);
  return std::make_unique<DeviceStream>(devices_.Get(device));
}

}  // namespace epiphyte::vulkan
