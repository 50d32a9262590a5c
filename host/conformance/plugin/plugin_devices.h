// PluginDevices: a plugin's ep.device as a host uses it, with every answer held against the rules: memories, buffers
// and streams.
//
//   PluginDevices* devices = plugin.devices();          // null: the plugin has none
//   Buffer buffer(*devices, {.device = 0, .memory = 1}, 4096);
//   Stream stream(*devices, 0);
//   stream.Copy({{At(lent.data()), At(buffer), 4096}});
//   stream.Finish();
//
// A failure ends the check, with the rule that covers the function. Destructors return all objects in the order that
// the headers require. If the check has ended, its process ends instead.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "epiphyte/draft/ep_device.h"
#include "host/conformance/plugin/plugin_library.h"

namespace epiphyte::conformance {

// Answer of GetMemories about one memory.
struct DeviceMemory {
  std::string name;
  uint32_t flags = 0;
  uint64_t alignment = 1;
  uint64_t max_buffer = 0;
  uint32_t import_types = 0;
  uint32_t export_types = 0;

  bool mappable() const { return (flags & EP_MEMORY_MAPPABLE) != 0; }
  bool whole() const { return (flags & EP_MEMORY_WHOLE) != 0; }
  bool operator==(const DeviceMemory&) const = default;
};

// Thread-safe.
class PluginDevices {
 public:
  // `api`: what GetExtension gave.
  PluginDevices(DebugHost& host, const EpDeviceApi* api, EpPlugin* plugin);
  PluginDevices(const PluginDevices&) = delete;
  PluginDevices& operator=(const PluginDevices&) = delete;

  DebugHost& host() const { return host_; }
  const EpDeviceApi& api() const { return *api_; }
  EpPlugin* plugin() const { return plugin_; }
  // Memories of one device; the plugin is asked once.
  const std::vector<DeviceMemory>& Memories(uint32_t device);
  std::vector<DeviceMemory> AskMemories(uint32_t device);
  // GetMemoryUse.
  EpMemoryUse UseOf(uint32_t device, uint32_t memory);
  void Trim(uint32_t device);

  template <typename Function>
  DebugHost::Failure Call(const std::string& name, Function&& function) {
    return CallPlugin(host_, Rule::kDeviceKeepsExceptions, name, function);
  }
  // For functions that return nothing, in destructors too.
  template <typename Function>
  void Release(const std::string& name, Function&& function) noexcept {
    host_.Step(name);
    try {
      function();
    } catch (...) {
      host_.Violate(Rule::kReleasesKeepExceptions, name + " let an exception escape");
    }
  }

  // False when the host has it already.
  bool Own(const EpBuffer* buffer);
  void Disown(const EpBuffer* buffer);
  bool Own(const EpStream* stream);
  void Disown(const EpStream* stream);

 private:
  DebugHost& host_;
  const EpDeviceApi* api_;
  EpPlugin* plugin_;
  std::mutex mutex_;
  std::map<uint32_t, std::vector<DeviceMemory>> memories_;
  std::set<const void*> buffers_;
  std::set<const void*> streams_;
};

struct MemoryPlace {
  uint32_t device = 0;
  uint32_t memory = 0;
};

class Buffer {
 public:
  Buffer(PluginDevices& devices, MemoryPlace place, uint64_t size);
  // Null with the plugin's refusal in `failure`.
  static std::unique_ptr<Buffer> TryAllocate(PluginDevices& devices, MemoryPlace place, uint64_t size,
                                             DebugHost::Failure* failure);
  static std::unique_ptr<Buffer> TryImport(PluginDevices& devices, MemoryPlace place, const EpExternalMemory& external,
                                           DebugHost::Failure* failure);
  // One that a kernel gives; null when the host has it already.
  static std::unique_ptr<Buffer> TryAdopt(PluginDevices& devices, MemoryPlace place, EpBuffer* buffer, uint64_t size);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  EpBuffer* handle() const { return buffer_; }
  MemoryPlace place() const { return place_; }
  uint64_t size() const { return size_; }
  std::byte* Map();

 private:
  Buffer(PluginDevices& devices, MemoryPlace place, uint64_t size, EpBuffer* buffer);

  PluginDevices& devices_;
  MemoryPlace place_;
  uint64_t size_;
  EpBuffer* buffer_ = nullptr;
  int exceptions_;
};

EpCopyEnd At(const Buffer& buffer, uint64_t offset = 0);
// Host memory; of a source it is only read.
EpCopyEnd At(const void* data);

// For one thread at a time, but for Synchronize.
class Stream {
 public:
  Stream(PluginDevices& devices, uint32_t device);
  // After what was submitted is done.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  EpStream* handle() const { return stream_; }
  uint32_t device() const { return device_; }
  // Something else was submitted: by a kernel.
  void NoteSubmission() { submitted_ = true; }

  void Copy(std::span<const EpCopy> copies);
  void Copy(std::initializer_list<EpCopy> copies) { Copy(std::span(copies.begin(), copies.size())); }
  uint64_t Signal();
  void Wait(const Stream& other, uint64_t point);
  void Synchronize(uint64_t point);
  // All that was submitted is done.
  void Finish() {
    Synchronize(Signal());
    submitted_ = false;
  }

  // The same for streams that may have failed.
  DebugHost::Failure TryCopy(std::span<const EpCopy> copies);
  DebugHost::Failure TryFinish();

 private:
  DebugHost::Failure TrySignal(uint64_t* point);
  DebugHost::Failure TrySynchronize(uint64_t point);

  PluginDevices& devices_;
  uint32_t device_;
  EpStream* stream_ = nullptr;
  uint64_t last_point_ = 0;
  bool submitted_ = false;  // submitted work may not be done yet
  int exceptions_;
};

}  // namespace epiphyte::conformance
