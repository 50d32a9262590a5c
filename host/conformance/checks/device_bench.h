// DeviceBench: where checks of a plugin's devices begin, and host memory that they copy from and to, which is watched.
//
//   DeviceBench bench(journal, target, kRules);
//   if (!bench.has_devices()) return bench.Finish();
//   for (const MemoryPlace place : bench.places()) …
//   bench.Finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "host/conformance/checks/checks.h"
#include "host/conformance/memory/lent_memory.h"
#include "host/conformance/plugin/plugin_devices.h"

namespace epiphyte::conformance {

class DeviceBench {
 public:
  // Without devices, `rules` don't apply.
  DeviceBench(Journal& journal, const Target& target, std::initializer_list<Rule> rules);

  bool has_devices() const { return devices_ != nullptr; }
  DebugHost& host() { return bench_.host(); }
  Journal& journal() { return bench_.journal(); }
  PluginDevices& devices() { return *devices_; }
  // Devices that are here, four at most; and their memories.
  const std::vector<uint32_t>& indices() const { return indices_; }
  const std::vector<MemoryPlace>& places() const { return places_; }
  const DeviceMemory& memory(MemoryPlace place) { return devices_->Memories(place.device)[place.memory]; }
  // Bytes, a multiple of the alignment of every memory.
  uint64_t unit() const { return unit_; }
  // Replaces the provider that lives while the functions are called by a new one.
  void RenewProvider();
  void Finish();

 private:
  Bench bench_;
  PluginDevices* devices_;
  std::unique_ptr<Session> session_;
  std::vector<uint32_t> indices_;
  std::vector<MemoryPlace> places_;
  uint64_t unit_ = 256;
};

// Bytes that differ from place to place and from seed to seed.
std::vector<std::byte> Pattern(size_t size, unsigned seed);
// Source of a copy: read-only, ends before a forbidden page.
std::unique_ptr<LentMemory> SourceOf(std::span<const std::byte> bytes);
// Target of a copy.
std::unique_ptr<LentMemory> TargetOf(size_t size);

// One copy, and all that was submitted before it, done.
void Send(Stream& stream, std::span<const std::byte> bytes, const Buffer& buffer, uint64_t offset = 0);
std::vector<std::byte> Receive(DebugHost& host, Stream& stream, const Buffer& buffer, uint64_t size,
                               uint64_t offset = 0);

}  // namespace epiphyte::conformance
