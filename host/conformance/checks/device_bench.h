// DeviceBench: the starting point of checks of a plugin's devices. It also has guarded host memory as source and target
// of copies.
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
  // If the plugin has no devices, `rules` are marked as not applicable.
  DeviceBench(Journal& journal, const Target& target, std::initializer_list<Rule> rules);

  bool has_devices() const { return devices_ != nullptr; }
  DebugHost& host() { return bench_.host(); }
  Journal& journal() { return bench_.journal(); }
  PluginDevices& devices() { return *devices_; }
  // Indices of devices that are present, at most four, and the memories of these devices.
  const std::vector<uint32_t>& indices() const { return indices_; }
  const std::vector<MemoryPlace>& places() const { return places_; }
  const DeviceMemory& memory(MemoryPlace place) { return devices_->Memories(place.device)[place.memory]; }
  // Size in bytes that is a multiple of the alignment of every memory.
  uint64_t unit() const { return unit_; }
  // Replaces the provider that exists during the calls by a new one.
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

// Returns bytes that differ between positions and between seeds.
std::vector<std::byte> Pattern(size_t size, unsigned seed);
// Returns memory for the source of a copy: read-only, and ending before an inaccessible page.
std::unique_ptr<LentMemory> SourceOf(std::span<const std::byte> bytes);
// Returns memory for the target of a copy.
std::unique_ptr<LentMemory> TargetOf(size_t size);

// Send and Receive do one copy, and return when it and all earlier work of the stream are done.
void Send(Stream& stream, std::span<const std::byte> bytes, const Buffer& buffer, uint64_t offset = 0);
std::vector<std::byte> Receive(DebugHost& host, Stream& stream, const Buffer& buffer, uint64_t size,
                               uint64_t offset = 0);

}  // namespace epiphyte::conformance
