#include "plugins/vulkan/exec/constant_store.h"

#include "epiphyte/kit/memory/digest.hpp"
#include "plugins/vulkan/program/memory_plan.h"

namespace epiphyte::vulkan {
namespace {

// What is loaded together shares buffers of up to this size, if no single piece is larger.
constexpr uint64_t kMostTogether = uint64_t{64} << 20;

uint64_t Aligned(uint64_t bytes) { return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment; }

}  // namespace

std::vector<BufferRange> LoadConstants(const std::shared_ptr<Device>& device,
                                       std::span<const std::span<const std::byte>> data) {
  std::vector<BufferRange> places;
  while (places.size() < data.size()) {
    uint64_t bytes = 0;
    size_t end = places.size();
    for (; end < data.size(); ++end) {
      const uint64_t next = Aligned(data[end].size());
      if (bytes != 0 && bytes + next > kMostTogether) break;
      bytes += next;
    }
    const std::shared_ptr<Buffer> buffer = device->Allocate(bytes, "constants");
    std::vector<HostToDevice> copies;
    uint64_t offset = 0;
    for (size_t i = places.size(); i < end; ++i) {
      copies.push_back({{buffer, offset, data[i].size()}, data[i].data()});
      offset += Aligned(data[i].size());
    }
    device->Upload(copies);
    for (const HostToDevice& copy : copies) places.push_back(copy.to);
  }
  return places;
}

std::vector<BufferRange> ConstantStore::Load(const std::shared_ptr<Device>& device,
                                             std::span<const std::span<const std::byte>> data) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.buffer.expired(); });
  std::vector<BufferRange> places(data.size());
  std::map<Key, std::vector<size_t>> missing;
  for (size_t i = 0; i < data.size(); ++i) {
    const Key key(device.get(), kit::Digest(data[i].data(), data[i].size()), data[i].size());
    const auto found = known_.find(key);
    std::shared_ptr<Buffer> buffer = found == known_.end() ? nullptr : found->second.buffer.lock();
    if (buffer == nullptr) {
      missing[key].push_back(i);
    } else {
      const uint64_t offset = found->second.offset;
      places[i] = {std::move(buffer), offset, data[i].size()};
    }
  }
  std::vector<std::span<const std::byte>> wanted;
  for (const auto& [key, places_of_it] : missing) wanted.push_back(data[places_of_it[0]]);
  const std::vector<BufferRange> loaded = LoadConstants(device, wanted);
  size_t next = 0;
  for (const auto& [key, places_of_it] : missing) {
    const BufferRange& place = loaded[next++];
    known_[key] = {place.buffer, place.offset};
    for (const size_t i : places_of_it) places[i] = place;
  }
  return places;
}

}  // namespace epiphyte::vulkan
