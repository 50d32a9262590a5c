// DeviceStorage: the piece of a device's memory that a tensor is in. Whoever makes it knows how it is freed; a value
// keeps it, and tells plugins where it is.
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
  uint32_t device() const { return device_; }  // of the plugin
  uint32_t memory() const { return memory_; }  // of the device

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
