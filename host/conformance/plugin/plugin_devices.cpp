#include "host/conformance/plugin/plugin_devices.h"

#include <algorithm>
#include <exception>

#include "host/conformance/memory/lent_memory.h"

namespace epiphyte::conformance {
namespace {

constexpr uint64_t kMaxAlignment = 65536;
constexpr size_t kMaxName = 63;

void CheckTable(DebugHost& host, const EpDeviceApi& api) {
  host.Step("reading the device table");
  Demand(host, api.struct_size >= sizeof(EpDeviceApi), Rule::kDeviceTableIsWhole,
         "struct_size of the device table is " + std::to_string(api.struct_size) + ", at least " +
             std::to_string(sizeof(EpDeviceApi)) + " is expected");
  Demand(host, api.reserved == 0, Rule::kDeviceTableIsWhole,
         "reserved of the device table is " + std::to_string(api.reserved));
  const bool complete = api.GetMemories != nullptr && api.GetMemoryUse != nullptr && api.Allocate != nullptr &&
                        api.Import != nullptr && api.Free != nullptr && api.CreateStream != nullptr &&
                        api.DestroyStream != nullptr && api.Copy != nullptr && api.Signal != nullptr &&
                        api.Wait != nullptr && api.Synchronize != nullptr;
  Demand(host, complete, Rule::kDeviceTableIsWhole, "a function of the device table that is not optional is null");
  host.journal().Pass(Rule::kDeviceTableIsWhole);
}

}  // namespace

PluginDevices::PluginDevices(DebugHost& host, const EpDeviceApi* api, EpPlugin* plugin)
    : host_(host), api_(api), plugin_(plugin) {
  CheckTable(host_, *api_);
}

std::vector<DeviceMemory> PluginDevices::AskMemories(uint32_t device) {
  const auto ask = [&](std::vector<const EpMemoryInfo*>& infos, uint32_t capacity) {
    uint32_t count = UINT32_MAX;
    const DebugHost::Failure failure = Call("GetMemories", [&] {
      return api_->GetMemories(plugin_, device, capacity == 0 ? nullptr : infos.data(), capacity, &count);
    });
    if (failure) EndWith(host_, Rule::kMemoriesAreCounted, Describe(failure));
    Demand(host_, count >= 1 && count <= EP_MAX_MEMORIES, Rule::kMemoriesAreCounted,
           "GetMemories counts " + std::to_string(count) + " memories of device " + std::to_string(device) + ", 1 to " +
               std::to_string(EP_MAX_MEMORIES) + " are allowed");
    return count;
  };
  std::vector<const EpMemoryInfo*> infos;
  const uint32_t count = ask(infos, 0);
  const auto* untouched = reinterpret_cast<const EpMemoryInfo*>(&infos);
  infos.assign(count + 1, untouched);
  Demand(host_, ask(infos, count) == count, Rule::kMemoriesStay, "GetMemories counts another number the second time");
  Demand(host_, infos[count] == untouched, Rule::kMemoriesAreCounted,
         "GetMemories filled more than " + std::to_string(count) + " entries");
  infos.pop_back();
  std::vector<DeviceMemory> memories;
  for (const EpMemoryInfo* info : infos) {
    const std::string memory =
        "memory " + std::to_string(memories.size()) + " of device " + std::to_string(device) + " ";
    Demand(host_, info != nullptr && info != untouched, Rule::kMemoriesAreGiven,
           memory + "was not filled in, or with null");
    Demand(host_, info->struct_size >= sizeof(EpMemoryInfo), Rule::kMemoriesAreGiven,
           memory + "has struct_size " + std::to_string(info->struct_size));
    Demand(host_, IsOneLine(info->name) && *info->name != '\0' && std::strlen(info->name) <= kMaxName,
           Rule::kMemoriesHaveNames, memory + "has a name that is null, empty, too long or can't be printed");
    for (const DeviceMemory& other : memories) {
      Demand(host_, other.name != info->name, Rule::kMemoriesHaveNames,
             memory + "is called '" + other.name + "', as another one is");
    }
    const uint64_t alignment = info->alignment;
    Demand(host_, alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= kMaxAlignment,
           Rule::kAlignmentIsAPower, memory + "has the alignment " + std::to_string(alignment));
    memories.push_back({info->name, info->flags, alignment, info->max_buffer, info->import_types, info->export_types});
    Demand(host_, !memories.back().mappable() || api_->Map != nullptr, Rule::kOptionalDeviceFunctions,
           memory + "is MAPPABLE, and Map is null");
    Demand(host_, info->export_types == 0 || api_->Export != nullptr, Rule::kOptionalDeviceFunctions,
           memory + "has export types, and Export is null");
  }
  for (const Rule rule : {Rule::kDeviceKeepsExceptions, Rule::kMemoriesAreCounted, Rule::kMemoriesAreGiven,
                          Rule::kMemoriesHaveNames, Rule::kAlignmentIsAPower, Rule::kOptionalDeviceFunctions}) {
    host_.journal().Pass(rule);
  }
  return memories;
}

const std::vector<DeviceMemory>& PluginDevices::Memories(uint32_t device) {
  {
    std::lock_guard lock(mutex_);
    const auto found = memories_.find(device);
    if (found != memories_.end()) return found->second;
  }
  std::vector<DeviceMemory> memories = AskMemories(device);
  std::lock_guard lock(mutex_);
  return memories_.emplace(device, std::move(memories)).first->second;
}

EpMemoryUse PluginDevices::UseOf(uint32_t device, uint32_t memory) {
  EpMemoryUse use = {};
  use.struct_size = sizeof(use);
  const DebugHost::Failure failure =
      Call("GetMemoryUse", [&] { return api_->GetMemoryUse(plugin_, device, memory, &use); });
  if (failure) EndWith(host_, Rule::kMemoryUseWorks, Describe(failure));
  Demand(host_, use.reserved == 0 && use.struct_size == sizeof(use), Rule::kMemoryUseWorks,
         "GetMemoryUse left reserved " + std::to_string(use.reserved) + " and struct_size " +
             std::to_string(use.struct_size));
  Demand(host_, use.total_bytes == 0 || use.used_bytes <= use.total_bytes, Rule::kMemoryUseWorks,
         std::to_string(use.used_bytes) + " bytes are used of " + std::to_string(use.total_bytes));
  host_.journal().Pass(Rule::kMemoryUseWorks);
  return use;
}

void PluginDevices::Trim(uint32_t device) {
  if (api_->Trim != nullptr) Release("Trim", [&] { api_->Trim(plugin_, device); });
  host_.EndIfViolated();
}

bool PluginDevices::Own(const EpBuffer* buffer) {
  std::lock_guard lock(mutex_);
  return buffers_.insert(buffer).second;
}
void PluginDevices::Disown(const EpBuffer* buffer) {
  std::lock_guard lock(mutex_);
  buffers_.erase(buffer);
}
bool PluginDevices::Own(const EpStream* stream) {
  std::lock_guard lock(mutex_);
  return streams_.insert(stream).second;
}
void PluginDevices::Disown(const EpStream* stream) {
  std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

// --- buffers

Buffer::Buffer(PluginDevices& devices, MemoryPlace place, uint64_t size, EpBuffer* buffer)
    : devices_(devices), place_(place), size_(size), buffer_(buffer), exceptions_(std::uncaught_exceptions()) {}

Buffer::Buffer(PluginDevices& devices, MemoryPlace place, uint64_t size) : Buffer(devices, place, size, nullptr) {
  DebugHost::Failure failure;
  std::unique_ptr<Buffer> made = TryAllocate(devices, place, size, &failure);
  if (made == nullptr)
    EndWith(devices.host(), Rule::kBufferIsGiven, std::to_string(size) + " bytes: " + Describe(failure));
  std::swap(buffer_, made->buffer_);
}

std::unique_ptr<Buffer> Buffer::TryAllocate(PluginDevices& devices, MemoryPlace place, uint64_t size,
                                            DebugHost::Failure* failure) {
  DebugHost& host = devices.host();
  EpBuffer* buffer = nullptr;
  *failure = devices.Call(
      "Allocate", [&] { return devices.api().Allocate(devices.plugin(), place.device, place.memory, size, &buffer); });
  if (*failure) return nullptr;
  Demand(host, buffer != nullptr, Rule::kBufferIsGiven, "Allocate succeeded and gave no buffer");
  Demand(host, devices.Own(buffer), Rule::kBuffersAreNotShared, "Allocate gave a buffer that is in use");
  return std::unique_ptr<Buffer>(new Buffer(devices, place, size, buffer));
}

std::unique_ptr<Buffer> Buffer::TryImport(PluginDevices& devices, MemoryPlace place, const EpExternalMemory& external,
                                          DebugHost::Failure* failure) {
  DebugHost& host = devices.host();
  EpBuffer* buffer = nullptr;
  *failure = devices.Call(
      "Import", [&] { return devices.api().Import(devices.plugin(), place.device, place.memory, &external, &buffer); });
  if (*failure) return nullptr;
  Demand(host, buffer != nullptr, Rule::kImportsAreTheMemory, "Import succeeded and gave no buffer");
  Demand(host, devices.Own(buffer), Rule::kBuffersAreNotShared, "Import gave a buffer that is in use");
  return std::unique_ptr<Buffer>(new Buffer(devices, place, external.size, buffer));
}

std::unique_ptr<Buffer> Buffer::TryAdopt(PluginDevices& devices, MemoryPlace place, EpBuffer* buffer, uint64_t size) {
  if (!devices.Own(buffer)) return nullptr;
  return std::unique_ptr<Buffer>(new Buffer(devices, place, size, buffer));
}

Buffer::~Buffer() {
  if (buffer_ == nullptr || std::uncaught_exceptions() > exceptions_) return;
  devices_.Disown(buffer_);
  devices_.Release("Free", [&] { devices_.api().Free(devices_.plugin(), buffer_); });
}

std::byte* Buffer::Map() {
  void* data = nullptr;
  const DebugHost::Failure failure =
      devices_.Call("Map", [&] { return devices_.api().Map(devices_.plugin(), buffer_, &data); });
  if (failure) EndWith(devices_.host(), Rule::kMapGivesTheAddress, Describe(failure));
  Demand(devices_.host(), data != nullptr, Rule::kMapGivesTheAddress, "Map succeeded and gave no address");
  return static_cast<std::byte*>(data);
}

EpCopyEnd At(const Buffer& buffer, uint64_t offset) { return {buffer.handle(), nullptr, offset}; }
EpCopyEnd At(const void* data) { return {nullptr, const_cast<void*>(data), 0}; }

// --- streams

Stream::Stream(PluginDevices& devices, uint32_t device)
    : devices_(devices), device_(device), exceptions_(std::uncaught_exceptions()) {
  DebugHost& host = devices.host();
  const DebugHost::Failure failure =
      devices.Call("CreateStream", [&] { return devices.api().CreateStream(devices.plugin(), device, &stream_); });
  if (failure) EndWith(host, Rule::kStreamIsGiven, Describe(failure));
  Demand(host, stream_ != nullptr, Rule::kStreamIsGiven, "CreateStream succeeded and gave no stream");
  Demand(host, devices.Own(stream_), Rule::kStreamsAreNotShared, "CreateStream gave a stream that is in use");
}

Stream::~Stream() {
  if (std::uncaught_exceptions() > exceptions_) return;
  try {
    // A stream that has failed has no work.
    if (submitted_) TryFinish();
  } catch (const CheckEnded&) {
    return;
  }
  devices_.Disown(stream_);
  devices_.Release("DestroyStream", [&] { devices_.api().DestroyStream(stream_); });
}

DebugHost::Failure Stream::TryCopy(std::span<const EpCopy> copies) {
  if (copies.empty()) return {};
  // The array is unmapped when the call has returned.
  LentMemory array(copies.size_bytes(), {"the array of copies", Rule::kCopiesEnd, Rule::kCopiesEnd, Rule::kCopiesEnd});
  std::memcpy(array.data(), copies.data(), copies.size_bytes());
  array.MakeReadOnly();
  submitted_ = true;
  return devices_.Call("Copy", [&] {
    return devices_.api().Copy(stream_, reinterpret_cast<const EpCopy*>(array.data()), copies.size());
  });
}

DebugHost::Failure Stream::TrySignal(uint64_t* point) {
  const uint64_t before = last_point_;
  const DebugHost::Failure failure = devices_.Call("Signal", [&] { return devices_.api().Signal(stream_, point); });
  if (failure) return failure;
  Demand(devices_.host(), *point > before, Rule::kPointsGrow,
         "Signal gave point " + std::to_string(*point) +
             (before == 0 ? ", at least 1 is expected" : " after " + std::to_string(before)));
  last_point_ = *point;
  return {};
}

DebugHost::Failure Stream::TrySynchronize(uint64_t point) {
  return devices_.Call("Synchronize", [&] { return devices_.api().Synchronize(stream_, point, UINT64_MAX); });
}

DebugHost::Failure Stream::TryFinish() {
  uint64_t point = 0;
  if (const DebugHost::Failure failure = TrySignal(&point)) return failure;
  const DebugHost::Failure failure = TrySynchronize(point);
  submitted_ = false;
  return failure;
}

void Stream::Copy(std::span<const EpCopy> copies) {
  if (const DebugHost::Failure failure = TryCopy(copies))
    EndWith(devices_.host(), Rule::kCopiesArrive, Describe(failure));
}

uint64_t Stream::Signal() {
  uint64_t point = 0;
  if (const DebugHost::Failure failure = TrySignal(&point))
    EndWith(devices_.host(), Rule::kPointsGrow, Describe(failure));
  return point;
}

void Stream::Wait(const Stream& other, uint64_t point) {
  const DebugHost::Failure failure =
      devices_.Call("Wait", [&] { return devices_.api().Wait(stream_, other.stream_, point); });
  if (failure) EndWith(devices_.host(), Rule::kWaitOrders, Describe(failure));
  submitted_ = true;
}

void Stream::Synchronize(uint64_t point) {
  if (const DebugHost::Failure failure = TrySynchronize(point))
    EndWith(devices_.host(), Rule::kSynchronizeWaits, Describe(failure));
}

}  // namespace epiphyte::conformance
