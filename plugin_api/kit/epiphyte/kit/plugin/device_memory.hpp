// Device memory: buffers and streams of a plugin whose devices have memory of their own, as classes to derive from. The
// kit makes the table of draft/ep_device.h of them, which says what each function is to do; what they throw is the
// status that the host gets.
//
//   class MyBuffer : public kit::DeviceBuffer { … };
//   class MyStream : public kit::DeviceStream {
//     void Copy(std::span<const EpCopy> copies) override;
//     …
//   };
//   class MyMemories : public kit::DeviceMemories {
//     std::unique_ptr<kit::DeviceStream> CreateStream(uint32_t device) override { return std::make_unique<MyStream>(…);
//     } …
//   };
//   class MyPlugin : public kit::Plugin {
//     kit::DeviceMemories* Memories() override { return &memories_; }
//   };
//
//   void MyKernel::Execute(const kit::Run& run) {   // with kit::DeviceRuns, abi/device_runs.hpp
//     MyStream& stream = kit::StreamOf<MyStream>(device_.Stream(run.handle()));
//     MyBuffer& x = kit::BufferOf<MyBuffer>(run.input(0).buffer);
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "epiphyte/draft/ep_device.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/plugin/point_listeners.hpp"

namespace epiphyte::kit {

// Its destructor is EpDeviceApi::Free.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
};

// Its destructor is EpDeviceApi::DestroyStream. Functions are called by one thread at a time, but for Synchronize.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  virtual void Copy(std::span<const EpCopy> copies) = 0;
  virtual uint64_t Signal() = 0;
  virtual void Wait(DeviceStream& other, uint64_t point) = 0;
  // Throws TIMEOUT. [any thread, on several at once] OnReached of the table is made of it.
  virtual void Synchronize(uint64_t point, uint64_t timeout_ns) = 0;
};

// [any thread]
class DeviceMemories {
 public:
  virtual ~DeviceMemories() = default;

  // They live as long as the plugin.
  virtual std::span<const EpMemoryInfo> Memories(uint32_t device) = 0;
  // Its struct_size is set by the kit.
  virtual EpMemoryUse MemoryUse(uint32_t device, uint32_t memory) = 0;
  virtual std::unique_ptr<DeviceBuffer> Allocate(uint32_t device, uint32_t memory, uint64_t size) = 0;
  // As a default, for memories without import types, export types, or MAPPABLE: they throw.
  virtual std::unique_ptr<DeviceBuffer> Import(uint32_t device, uint32_t memory, const EpExternalMemory& external);
  virtual EpExternalMemory Export(DeviceBuffer& buffer, EpHandleType type);
  virtual void* Map(DeviceBuffer& buffer);
  virtual void Trim(uint32_t device) { (void)device; }
  virtual std::unique_ptr<DeviceStream> CreateStream(uint32_t device) = 0;
};

// What the host's handles are. A plugin's own buffers become one for EpDeviceRunApi::AdoptOutput by ToHandle, which
// takes over once that has succeeded.
inline EpBuffer* ToHandle(DeviceBuffer* buffer) { return reinterpret_cast<EpBuffer*>(buffer); }
DeviceStream& FromHandle(EpStream* stream);
inline DeviceBuffer& FromHandle(EpBuffer* buffer) { return *reinterpret_cast<DeviceBuffer*>(buffer); }
template <typename Buffer>
Buffer& BufferOf(EpBuffer* buffer) {
  return static_cast<Buffer&>(FromHandle(buffer));
}
template <typename Stream>
Stream& StreamOf(EpStream* stream) {
  return static_cast<Stream&>(FromHandle(stream));
}

// Of a plugin whose Memories() gives some.
const EpDeviceApi& DeviceTable();

}  // namespace epiphyte::kit
