// DeviceRuns: services of the host for a kernel that executes with values on a device. See draft/ep_device.h.
//
//   class MyKernel : public kit::Kernel {
//    public:
//     explicit MyKernel(const EpHostInfo& host) : device_(host) {}
//     void Execute(const kit::Run& run) override {
//       EpStream* const stream = device_.Stream(run.handle());
//       const EpTensorView& x = run.input(0);                                // x.buffer and x.offset, or x.data
//       const EpTensorView& y = device_.Output(run.handle(), 0, x.element_type, {x.dims, x.rank});
//       Submit(stream, x, y);                                                // done later, in order
//     }
//   };
#pragma once

#include <cstdint>
#include <span>

#include "epiphyte/draft/ep_device.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/extension.hpp"

namespace epiphyte::kit {

// A small value, cheap to copy. Call the functions inside Execute, on the thread of Execute.
class DeviceRuns {
 public:
  DeviceRuns() = default;
  explicit DeviceRuns(const EpHostInfo& host)
      : host_(&host), api_(FindExtension<EpDeviceRunApi>(host, EP_DEVICE_EXTENSION)) {}

  // False: the host has no devices, and all values are in host memory.
  explicit operator bool() const { return api_ != nullptr; }

  // The run's stream on the kernel's device.
  EpStream* Stream(EpRun* run) const {
    EpStream* stream = nullptr;
    ThrowIfFailed(*host_, api_->GetStream(run, &stream));
    return stream;
  }
  // Makes output i a tensor in one of the memories that Describe gave for it; valid until Execute returns.
  const EpTensorView& Output(EpRun* run, uint32_t i, EpElementType type, std::span<const int64_t> dims) const {
    const EpTensorView* view = nullptr;
    ThrowIfFailed(*host_, api_->AllocateOutput(run, i, type, dims.data(), static_cast<uint32_t>(dims.size()), &view));
    return *view;
  }
  // Makes output i a tensor in a buffer of the plugin. The host owns the buffer from then on, unless this throws.
  void Adopt(EpRun* run, uint32_t i, EpElementType type, std::span<const int64_t> dims, uint32_t memory,
             EpBuffer* buffer, uint64_t size, uint64_t offset) const {
    ThrowIfFailed(*host_, api_->AdoptOutput(run, i, type, dims.data(), static_cast<uint32_t>(dims.size()), memory,
                                            buffer, size, offset));
  }

 private:
  const EpHostInfo* host_ = nullptr;
  const EpDeviceRunApi* api_ = nullptr;
};

}  // namespace epiphyte::kit
