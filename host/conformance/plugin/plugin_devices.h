// PluginDevices: uses a plugin's ep.device as a host does, and checks every answer against the rules: memories, buffers
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

// The answer of GetMemories about one memory.
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
  // `api` is the result of GetExtension.
  PluginDevices(DebugHost& host, const EpDeviceApi* api, EpPlugin* plugin);
  PluginDevices(const PluginDevices&) = delete;
  PluginDevices& operator=(const PluginDevices&) = delete;

  DebugHost& host() const { return host_; }
  const EpDeviceApi& api() const { return *api_; }
  EpPlugin* plugin() const { return plugin_; }
  // Returns the memories of one device. The plugin is asked only once.
  const std::vector<DeviceMemory>& Memories(uint32_t device);
  std::vector<DeviceMemory> AskMemories(uint32_t device);
  // Calls GetMemoryUse.
  EpMemoryUse UseOf(uint32_t device, uint32_t memory);
  void Trim(uint32_t device);

  template <typename Function>
  DebugHost::Failure Call(const std::string& name, Function&& function) {
    return CallPlugin(host_, Rule::kDeviceKeepsExceptions, name, function);
  }
  // Calls a function that returns nothing, possibly in a destructor.
  template <typename Function>
  void Release(const std::string& name, Function&& function) noexcept {
    host_.Step(name);
    try {
      function();
    } catch (...) {
      host_.Violate(Rule::kReleasesKeepExceptions, name + " let an exception escape");
    }
  }

  // Returns false when the host already has the buffer.
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
  // Returns null when the plugin refuses, and sets `failure`.
  static std::unique_ptr<Buffer> TryAllocate(PluginDevices& devices, MemoryPlace place, uint64_t size,
                                             DebugHost::Failure* failure);
  static std::unique_ptr<Buffer> TryImport(PluginDevices& devices, MemoryPlace place, const EpExternalMemory& external,
                                           DebugHost::Failure* failure);
  // Takes a buffer that a kernel supplies. Returns null when the host already has it.
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
// Returns host memory as an end of a copy. A source is only read.
EpCopyEnd At(const void* data);

// Only one thread at a time may call a stream, except for Synchronize.
class Stream {
 public:
  Stream(PluginDevices& devices, uint32_t device);
  // Waits until the submitted work is done.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  EpStream* handle() const { return stream_; }
  uint32_t device() const { return device_; }
  // Records that a kernel has submitted work.
  void NoteSubmission() { submitted_ = true; }

  void Copy(std::span<const EpCopy> copies);
  void Copy(std::initializer_list<EpCopy> copies) { Copy(std::span(copies.begin(), copies.size())); }
  uint64_t Signal();
  void Wait(const Stream& other, uint64_t point);
  void Synchronize(uint64_t point);
  // Waits until all submitted work is done.
  void Finish() {
    Synchronize(Signal());
    submitted_ = false;
  }

  // The following functions are for streams that may have failed.
  DebugHost::Failure TryCopy(std::span<const EpCopy> copies);
  DebugHost::Failure TryFinish();

 private:
  DebugHost::Failure TrySignal(uint64_t* point);
  DebugHost::Failure TrySynchronize(uint64_t point);

  PluginDevices& devices_;
  uint32_t device_;
  EpStream* stream_ = nullptr;
  uint64_t last_point_ = 0;
  bool submitted_ = false;  // true: submitted work may not be done yet
  int exceptions_;
};

}  // namespace epiphyte::conformance
