#include "plugins/vulkan/exec/constant_store.h"

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/memory/digest.hpp"
#include "plugins/vulkan/program/memory_plan.h"

namespace epiphyte::vulkan {
namespace {

// Constants that are loaded together share buffers of up to this many bytes. A single larger constant gets a larger
// buffer.
constexpr uint64_t kMostTogether = uint64_t{64} << 20;
constexpr uint64_t kComparedTogether = uint64_t{16} << 20;  // bytes read back at once from unmapped memory

// Compares the bytes, because equal digests do not prove equality: a model's author can give different weights the same
// digest.
bool Holds(Device& device, const BufferRange& place, std::span<const std::byte> bytes) {
  if (bytes.empty()) return true;
  if (const std::byte* mapped = place.buffer->mapped(); mapped != nullptr)
    return std::memcmp(mapped + place.offset, bytes.data(), bytes.size()) == 0;
  std::vector<std::byte> part;
  for (uint64_t at = 0; at < bytes.size(); at += part.size()) {
    part.resize(std::min<uint64_t>(bytes.size() - at, kComparedTogether));
    const DeviceToHost copy = {{place.buffer, place.offset + at, part.size()}, part.data()};
    device.Download({&copy, 1});
    if (std::memcmp(part.data(), bytes.data() + at, part.size()) != 0) return false;
  }
  return true;
}

uint64_t Aligned(uint64_t bytes) { return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment; }

}  // namespace

std::vector<BufferRange> LoadConstants(const std::shared_ptr<Device>& device,
                                       std::span<const std::span<const std::byte>> data,
                                       const std::shared_ptr<MemoryLimit>& limit) {
  std::vector<BufferRange> places;
  while (places.size() < data.size()) {
    uint64_t bytes = 0;
    size_t end = places.size();
    for (; end < data.size(); ++end) {
      const uint64_t next = Aligned(data[end].size());
      if (bytes != 0 && bytes + next > kMostTogether) break;
      bytes += next;
    }
    const std::shared_ptr<Buffer> buffer = device->Allocate(bytes, "constants", MemoryUse::kDevice, limit);
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
                                             std::span<const std::span<const std::byte>> data,
                                             const std::shared_ptr<MemoryLimit>& limit) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.buffer.expired(); });
  const auto find_known = [&](const Key& key, std::span<const std::byte> bytes) -> BufferRange {
    for (auto [it, end] = known_.equal_range(key); it != end; ++it) {
      const BufferRange place = {it->second.buffer.lock(), it->second.offset, bytes.size()};
      if (place.buffer != nullptr && Holds(*device, place, bytes)) return place;
    }
    return {};
  };
  struct Missing {
    Key key;
    std::vector<size_t> places;  // indices of constants with equal data
  };
  std::vector<BufferRange> places(data.size());
  std::vector<Missing> missing;
  std::multimap<Key, size_t> missing_by_key;
  for (size_t i = 0; i < data.size(); ++i) {
    const Key key(device.get(), kit::Digest(data[i].data(), data[i].size()), data[i].size());
    places[i] = find_known(key, data[i]);
    if (places[i].buffer != nullptr) continue;
    const auto [first, last] = missing_by_key.equal_range(key);
    const auto equal = std::find_if(first, last, [&](const auto& entry) {
      return std::ranges::equal(data[missing[entry.second].places[0]], data[i]);
    });
    if (equal != last) {
      missing[equal->second].places.push_back(i);
    } else {
      missing_by_key.emplace(key, missing.size());
      missing.push_back({key, {i}});
    }
  }
  std::vector<std::span<const std::byte>> wanted;
  for (const Missing& each : missing) wanted.push_back(data[each.places[0]]);
  const std::vector<BufferRange> loaded = LoadConstants(device, wanted, limit);
  for (size_t m = 0; m < missing.size(); ++m) {
    known_.emplace(missing[m].key, Known{loaded[m].buffer, loaded[m].offset});
    for (const size_t i : missing[m].places) places[i] = loaded[m];
  }
  return places;
}

}  // namespace epiphyte::vulkan
