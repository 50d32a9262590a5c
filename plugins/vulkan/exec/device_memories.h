// DeviceMemories: the memories and streams of the plugin's devices, as the host uses them through draft/ep_device.h.
//
//     memories.Allocate(0, 0, bytes);      // a DeviceBuffer in memory 0 of device 0
//
// Every device has the memory "device", its own. If the host can't map that one, there is also "host", which is mapped.
// Each handle type that can be exported has a further memory. Buffers belong to the device that is open when they are
// made. When a device is lost, a new one is opened for later buffers.
//
// All streams of a device share one queue, so their submissions are done one after the other. Different devices can't
// wait for each other: a copy between them, and a Wait for a stream of another device, block the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "epiphyte/kit/plugin/device_memory.hpp"
#include "plugins/vulkan/device/stream.h"
#include "plugins/vulkan/exec/device_pool.h"

namespace epiphyte::vulkan {

struct DeviceBuffer final : kit::DeviceBuffer {
  explicit DeviceBuffer(std::shared_ptr<Buffer> made) : buffer(std::move(made)) {}
  const std::shared_ptr<Buffer> buffer;
};

class DeviceStream final : public kit::DeviceStream {
 public:
  explicit DeviceStream(std::shared_ptr<Device> device) : stream_(std::move(device)) {}
  Stream& stream() { return stream_; }

  void Copy(std::span<const EpCopy> copies) override;
  uint64_t Signal() override { return stream_.Signal(); }
  void Wait(kit::DeviceStream& other, uint64_t point) override;
  void Synchronize(uint64_t point, uint64_t timeout_ns) override { stream_.Synchronize(point, timeout_ns); }

 private:
  Stream stream_;
  std::vector<StreamCopy> copies_;  // a member so that a steady run allocates nothing
};

// [any thread]
class DeviceMemories final : public kit::DeviceMemories {
 public:
  DeviceMemories(const Instance& instance, DevicePool& devices);

  // The set of all memories of the device, as kernels name it in EpKernelInfo. EP_MEMORIES_HOST is not in it.
  uint32_t SetOf(uint32_t device) const;

  std::span<const EpMemoryInfo> Memories(uint32_t device) override;
  EpMemoryUse MemoryUse(uint32_t device, uint32_t memory) override;
  std::unique_ptr<kit::DeviceBuffer> Allocate(uint32_t device, uint32_t memory, uint64_t size) override;
  std::unique_ptr<kit::DeviceBuffer> Import(uint32_t device, uint32_t memory,
                                            const EpExternalMemory& external) override;
  EpExternalMemory Export(kit::DeviceBuffer& buffer, EpHandleType type) override;
  void* Map(kit::DeviceBuffer& buffer) override;
  void Trim(uint32_t device) override;
  std::unique_ptr<kit::DeviceStream> CreateStream(uint32_t device) override;

 private:
  struct Listed {
    std::vector<EpMemoryInfo> memories;
    uint64_t total_bytes = 0;
  };

  const Listed& At(uint32_t device) const;
  const EpMemoryInfo& At(uint32_t device, uint32_t memory) const;

  DevicePool& devices_;
  std::vector<Listed> listed_;
};

}  // namespace epiphyte::vulkan
