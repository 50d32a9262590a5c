// DeviceStorage: the part of a device's memory that holds a tensor. The derived class knows how to free it. A value
// owns the object and tells plugins the location.
#pragma once

#include <cstdint>

#include "epiphyte/ep_value.h"

namespace epiphyte::core {

class DeviceStorage {
 public:
  virtual ~DeviceStorage() = default;
  DeviceStorage(const DeviceStorage&) = delete;
  DeviceStorage& operator=(const DeviceStorage&) = delete;

  EpBuffer* buffer() const { return buffer_; }  // not null
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }
  uint32_t device() const { return device_; }  // index among the plugin's devices
  uint32_t memory() const { return memory_; }  // index among the device's memories

 protected:
  DeviceStorage(EpBuffer* buffer, uint64_t offset, uint64_t size, uint32_t device, uint32_t memory)
      : buffer_(buffer), offset_(offset), size_(size), device_(device), memory_(memory) {}

 private:
  EpBuffer* buffer_;
  uint64_t offset_;
  uint64_t size_;
  uint32_t device_;
  uint32_t memory_;
};

}  // namespace epiphyte::core
