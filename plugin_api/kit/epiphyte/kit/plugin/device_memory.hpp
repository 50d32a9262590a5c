// Device memory: base classes for buffers and streams of a plugin with device memory of its own. The kit makes the
// function table of draft/ep_device.h from them; that header specifies each function. An exception becomes the status
// that the host gets.
//
//   class MyBuffer : public kit::DeviceBuffer { … };
//   class MyStream : public kit::DeviceStream {
//     void Copy(std::span<const EpCopy> copies) override;
//     …
//   };
//   class MyMemories : public kit::DeviceMemories {
//     std::unique_ptr<kit::DeviceStream> CreateStream(uint32_t device) override {
//       return std::make_unique<MyStream>(…);
//     }
//     …
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

// A buffer in device memory. The destructor implements EpDeviceApi::Free.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
};

// A stream of a device. The destructor implements EpDeviceApi::DestroyStream. One thread at a time calls the functions,
// except Synchronize.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  virtual void Copy(std::span<const EpCopy> copies) = 0;
  virtual uint64_t Signal() = 0;
  virtual void Wait(DeviceStream& other, uint64_t point) = 0;
  // Throws TIMEOUT. [any thread, several at once] The kit implements EpDeviceApi::OnReached with it.
  virtual void Synchronize(uint64_t point, uint64_t timeout_ns) = 0;
};

// The memories of a plugin's devices. [any thread]
class DeviceMemories {
 public:
  virtual ~DeviceMemories() = default;

  // The infos live as long as the plugin.
  virtual std::span<const EpMemoryInfo> Memories(uint32_t device) = 0;
  // The kit sets struct_size of the result.
  virtual EpMemoryUse MemoryUse(uint32_t device, uint32_t memory) = 0;
  virtual std::unique_ptr<DeviceBuffer> Allocate(uint32_t device, uint32_t memory, uint64_t size) = 0;
  // The defaults of Import, Export and Map throw. Override them for memories with import types, export types, or
  // MAPPABLE.
  virtual std::unique_ptr<DeviceBuffer> Import(uint32_t device, uint32_t memory, const EpExternalMemory& external);
  virtual EpExternalMemory Export(DeviceBuffer& buffer, EpHandleType type);
  virtual void* Map(DeviceBuffer& buffer);
  virtual void Trim(uint32_t device) { (void)device; }
  virtual std::unique_ptr<DeviceStream> CreateStream(uint32_t device) = 0;
};

// Conversions between the host's handles and the plugin's objects. To pass a plugin's own buffer to
// EpDeviceRunApi::AdoptOutput, use ToHandle; the host owns the buffer once AdoptOutput has succeeded.
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

// The function table of a plugin that overrides Memories().
const EpDeviceApi& DeviceTable();

}  // namespace epiphyte::kit
