// The memories of a Machine.
#include <algorithm>

#include "tests/device/plugin/control.h"
#include "tests/device/plugin/machine.h"

namespace epiphyte::test::device {
namespace {

constexpr EpStatusCode kInvalid = EP_STATUS_INVALID_ARGUMENT;

void CheckMemory(uint32_t memory, const char* function) {
  if (memory < kMemoryCount) return;
  Complain(std::string(function) + ": memory " + std::to_string(memory) + " of a device that has " +
           std::to_string(kMemoryCount));
  throw kit::Error(kInvalid, "there is no memory " + std::to_string(memory));
}

}  // namespace

EpMemoryUse Machine::MemoryUse(uint32_t device, uint32_t memory) {
  CheckMemory(memory, "GetMemoryUse");
  const Lock lock(mutex_);
  Device& mine = At(device);
  ThrowIfLost(mine);
  EpMemoryUse use = {sizeof use, 0, mine.used_bytes[memory], 0};
  if (memory == kArena) use.total_bytes = Control().capacity[mine.slot];
  return use;
}

void Machine::HandOut(const std::shared_ptr<Buffer>& buffer, Device& device, uint32_t memory) {
  buffer->device = device.index;
  buffer->memory = memory;
  buffer->generation = device.losses;
  buffers_[Buffer::IdOf(buffer->handle())] = buffer;
  ++Control().live_buffers;
}

std::shared_ptr<Buffer> Machine::Allocate(uint32_t device, uint32_t memory, uint64_t size) {
  CheckMemory(memory, "Allocate");
  const Lock lock(mutex_);
  Device& mine = At(device);
  if (size == 0) {
    Complain("Allocate of 0 bytes");
    throw kit::Error(kInvalid, "0 bytes asked for, at least 1 expected");
  }
  ThrowIfLost(mine);
  uint64_t& used = mine.used_bytes[memory];
  const uint64_t capacity = Control().capacity[mine.slot];
  if (memory == kArena && (used > capacity || size > capacity - used)) {
    throw kit::Error(EP_STATUS_OUT_OF_MEMORY, "arena of test " + std::to_string(device) + ": " + std::to_string(size) +
                                                  " bytes asked for, " + std::to_string(used) + " of " +
                                                  std::to_string(capacity) + " are in use");
  }
  std::shared_ptr<Buffer> buffer = memory == kArena ? Buffer::InArena(size) : Buffer::Shared(size);
  HandOut(buffer, mine, memory);
  used += size;
  Control().live_bytes += static_cast<int64_t>(size);
  ++Control().allocations;
  return buffer;
}

std::shared_ptr<Buffer> Machine::Import(uint32_t device, uint32_t memory, const EpExternalMemory& external) {
  CheckMemory(memory, "Import");
  const Lock lock(mutex_);
  Device& mine = At(device);
  ThrowIfLost(mine);
  std::shared_ptr<Buffer> buffer;
  if (external.type == EP_HANDLE_OPAQUE_FD) {
    buffer = Buffer::OverDescriptor(external.handle, external.offset, external.size);
  } else if (external.type == EP_HANDLE_HOST_POINTER && memory == kShared) {
    buffer = Buffer::OverPointer(external.pointer, external.offset, external.size);
  } else {
    throw kit::Error(kInvalid, "handle type " + std::to_string(external.type) + " found, memory " +
                                   std::to_string(memory) + " imports OPAQUE_FD (4)" +
                                   (memory == kShared ? " and HOST_POINTER (1)" : ""));
  }
  HandOut(buffer, mine, memory);
  ++Control().imports;
  return buffer;
}

EpExternalMemory Machine::Export(EpBuffer* handle, EpHandleType type) {
  const std::shared_ptr<Buffer> buffer = Find(handle, "Export");
  if (buffer->memory != kArena || type != EP_HANDLE_OPAQUE_FD) {
    throw kit::Error(kInvalid, "handle type " + std::to_string(type) + " of memory " + std::to_string(buffer->memory) +
                                   " found, OPAQUE_FD (4) of memory 0 is all that is exported");
  }
  EpExternalMemory external = {sizeof external, type, nullptr, 0, 0, buffer->size()};
  const int descriptor = buffer->Descriptor(&external.offset);
  if (descriptor < 0) throw kit::Error(EP_STATUS_OUT_OF_MEMORY, "there is no descriptor left");
  external.handle = descriptor;
  ++Control().exports;
  return external;
}

void* Machine::Map(EpBuffer* handle) {
  const std::shared_ptr<Buffer> buffer = Find(handle, "Map");
  if (buffer->memory != kShared) {
    Complain("Map of a buffer in memory 0, which is not MAPPABLE");
    throw kit::Error(kInvalid, "memory 0 can't be mapped");
  }
  ++Control().maps;
  return buffer->data();
}

void Machine::Free(EpBuffer* handle) {
  const Lock lock(mutex_);
  const auto found = buffers_.find(Buffer::IdOf(handle));
  if (found == buffers_.end()) {
    Complain("Free of a buffer that is freed already, another plugin's, or none at all");
    return;
  }
  const std::shared_ptr<Buffer> buffer = found->second;
  if (!buffer->pending.empty()) {
    Complain("Free of a buffer of " + std::to_string(buffer->size()) + " bytes that submitted work uses");
  }
  if (!buffer->imported()) {
    devices_[buffer->device].used_bytes[buffer->memory] -= buffer->size();
    Control().live_bytes -= static_cast<int64_t>(buffer->size());
  }
  buffers_.erase(found);
  --Control().live_buffers;
  ++Control().frees;
}

void Machine::Trim(uint32_t device) {
  if (device >= kDeviceCount) Complain("Trim of device " + std::to_string(device) + ", which there isn't");
  ++Control().trims;
}

std::shared_ptr<Buffer> Machine::Find(EpBuffer* handle, std::string_view what) {
  const Lock lock(mutex_);
  const auto found = buffers_.find(Buffer::IdOf(handle));
  if (found == buffers_.end()) {
    Complain(std::string(what) + ": the buffer is freed already, another plugin's, or none at all");
    throw kit::Error(kInvalid, std::string(what) + ": this plugin has no such buffer");
  }
  Device& device = devices_[found->second->device];
  if (found->second->generation == device.losses) return found->second;
  if (!device.is_lost && device.losses_told == device.losses) {
    Complain(std::string(what) + ": the buffer is from before the loss of its device");
  }
  ThrowReset(device);
}

std::shared_ptr<Buffer> Machine::Newest() {
  const Lock lock(mutex_);
  return buffers_.empty() ? nullptr : buffers_.rbegin()->second;
}

}  // namespace epiphyte::test::device
