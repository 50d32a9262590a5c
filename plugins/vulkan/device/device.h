// Device: a Vulkan device that was opened, with its memory, its pipelines and its queue.
//
//     const std::shared_ptr<Device> device =
//         Device::Open(instance, instance->devices()[0], {.kernels = &BuiltInKernels()});
//     const std::shared_ptr<Buffer> weights = device->Allocate(bytes, "weights");
//     device->Upload(std::vector<HostToDevice>{{{weights, 0, bytes}, data}});
//     CompiledProgram program(device, commands);      // compiled_program.h
//     program.Submit(stream, slots);
//
// Errors are kit::Error. OUT_OF_MEMORY names sizes. DEVICE_RESET means that the device is lost: every later call fails
// in the same way, and only a Device that is opened anew can help. All other errors are ENGINE_ERROR, with the call's
// name and its VkResult.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vulkan/device/capabilities.h"
#include "plugins/vulkan/device/device_info.h"
#include "plugins/vulkan/device/instance.h"
#include "plugins/vulkan/device/kernel_set.h"

namespace epiphyte::vulkan {

struct DeviceHandles;  // vk_device.h
struct MemoryBlock;    // vk_memory.h

// A limit on the bytes that several buffers may take together, such as the buffers of a session. [any thread]
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes) : bytes_(bytes) {}
  uint64_t bytes() const { return bytes_; }
  uint64_t used() const { return used_.load(); }
  // Returns false, and takes nothing, if the limit would be exceeded.
  bool Take(uint64_t bytes) {
    const uint64_t before = used_.fetch_add(bytes);
    if (bytes <= bytes_ && before <= bytes_ - bytes) return true;
    used_.fetch_sub(bytes);
    return false;
  }
  void Give(uint64_t bytes) { used_.fetch_sub(bytes); }

 private:
  const uint64_t bytes_;
  std::atomic<uint64_t> used_ = 0;
};

enum class ExternalHandle : uint8_t { kHostPointer, kOpaqueFd, kDmaBuf };

// Memory that exists already, in this process or another one.
struct ExternalMemory {
  ExternalHandle type = ExternalHandle::kHostPointer;
  void* pointer = nullptr;  // for kHostPointer
  int descriptor = -1;      // for kOpaqueFd and kDmaBuf
  uint64_t offset = 0;      // byte at which the buffer begins in the memory
  uint64_t size = 0;
};

// A range of the device's memory. Its owners hold it by shared_ptr. It keeps the device open.
class Buffer {
 public:
  // `limit`: the limit that its bytes were taken from; null: none.
  Buffer(std::shared_ptr<MemoryBlock> block, uint64_t id, uint64_t offset, uint64_t size, std::byte* mapped,
         std::shared_ptr<MemoryLimit> limit = {});
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // The id is unique: no other buffer of the device ever has it, not even after this one is destroyed.
  uint64_t id() const { return id_; }
  uint64_t size() const { return size_; }
  // The host's mapping of the buffer; null if it can't be mapped.
  std::byte* mapped() const { return mapped_; }

  // Returns a new descriptor, which the caller closes. The buffer must come from AllocateExportable.
  ExternalMemory Export(ExternalHandle type) const;

  MemoryBlock& block() const { return *block_; }
  uint64_t offset_in_block() const { return offset_; }

 private:
  std::shared_ptr<MemoryBlock> block_;
  std::shared_ptr<MemoryLimit> limit_;
  uint64_t id_;
  uint64_t offset_;
  uint64_t size_;
  std::byte* mapped_;
};

struct BufferRange {
  std::shared_ptr<Buffer> buffer;
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct HostToDevice {
  BufferRange to;
  const void* data = nullptr;  // to.size bytes
};
struct DeviceToHost {
  BufferRange from;
  void* data = nullptr;  // from.size bytes
};

// Counts of the objects made so far. A steady run makes none.
struct DeviceCounters {
  uint64_t vulkan_objects = 0;  // created Vulkan objects of every kind, memory included
  uint64_t pipelines = 0;
  uint64_t command_buffers = 0;  // recordings of command buffers
  uint64_t submissions = 0;
  uint64_t allocations = 0;      // live VkDeviceMemory objects
  uint64_t allocated_bytes = 0;  // bytes of these VkDeviceMemory objects
  uint64_t used_bytes = 0;       // bytes of the allocations that Buffers use
};

enum class MemoryUse : uint8_t {
  kDevice,    // the device's own; mapped if that costs nothing (DeviceInfo::unified_memory)
  kUpload,    // mapped; the host writes, the device reads
  kDownload,  // mapped; the device writes, the host reads
};

struct DeviceOptions {
  const KernelSet* kernels = nullptr;  // outlives the device; must be given
};

// [any thread]
class Device : public std::enable_shared_from_this<Device> {
 public:
  static std::shared_ptr<Device> Open(std::shared_ptr<Instance> instance, const DeviceInfo& info,
                                      const DeviceOptions& options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const;
  Instance& instance() const;
  const KernelSet& kernels() const;
  DeviceCounters counters() const;
  bool lost() const;

  // Allocates memory from few large allocations. It is aligned for bindings and not initialised. Errors name `what`. 0
  // bytes give a buffer, too. The bytes are taken from `limit` until the buffer is destroyed. Throws OUT_OF_MEMORY.
  std::shared_ptr<Buffer> Allocate(uint64_t bytes, std::string_view what, MemoryUse use = MemoryUse::kDevice,
                                   std::shared_ptr<MemoryLimit> limit = {});
  // Allocates device memory that Buffer::Export can give, as an allocation of its own. `type` is kOpaqueFd or kDmaBuf.
  std::shared_ptr<Buffer> AllocateExportable(uint64_t bytes, ExternalHandle type);
  // Makes a buffer over existing memory, which must outlive it. The caller keeps the descriptor. Throws
  // INVALID_ARGUMENT that names the device's requirement if the memory doesn't meet it.
  std::shared_ptr<Buffer> Import(const ExternalMemory& external);
  // Copy from and to the host, and return when the copies are done. The device must not use the ranges meanwhile.
  void Upload(std::span<const HostToDevice> copies);
  void Download(std::span<const DeviceToHost> copies);

  // Frees staging memory that is kept for reuse.
  void Trim();

  // Pipelines are compiled at their first use and kept. This returns the driver's data that speed up their compilation
  // in another process, behind a header of our own. Empty if the driver has no data to give.
  std::vector<std::byte> PipelineCacheData();
  // Adds such data to the driver's cache. They reach the driver only if header, size and digest are right and this
  // driver made them for this device. Returns why they were not used, or "".
  std::string UsePipelineCacheData(std::span<const std::byte> data);

  DeviceHandles& handles() const { return *handles_; }

 private:
  Device(std::shared_ptr<Instance> instance, const DeviceInfo& info, const DeviceOptions& options);

  std::unique_ptr<DeviceHandles> handles_;
};

}  // namespace epiphyte::vulkan
