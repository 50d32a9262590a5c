// ConstantStore: constants and packed data in a device's memory, in few large buffers. Data that go through one store
// and have equal bytes are in the memory only once. The sessions of a share group share their weights this way.
//
//     const std::vector<BufferRange> places = store.Load(device, data);   // data: host bytes of each constant
//
// [any thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "plugins/vulkan/device/device.h"

namespace epiphyte::vulkan {

class ConstantStore {
 public:
  // Returns one place per constant, at a multiple of kTensorAlignment. Missing data are uploaded together, into memory
  // taken from `limit`.
  std::vector<BufferRange> Load(const std::shared_ptr<Device>& device,
                                std::span<const std::span<const std::byte>> data,
                                const std::shared_ptr<MemoryLimit>& limit = {});

 private:
  using Key = std::tuple<const Device*, uint64_t,
                         uint64_t>;  // device, digest and size; constants with one key are compared byte by byte
  struct Known {
    std::weak_ptr<Buffer> buffer;
    uint64_t offset = 0;
  };
  std::mutex mutex_;
  std::multimap<Key, Known> known_;
};

// Loads all constants, equal ones several times. Returns one place per constant, as ConstantStore::Load does.
std::vector<BufferRange> LoadConstants(const std::shared_ptr<Device>& device,
                                       std::span<const std::span<const std::byte>> data,
                                       const std::shared_ptr<MemoryLimit>& limit = {});

}  // namespace epiphyte::vulkan
