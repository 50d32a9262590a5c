// Checks of device memories: their descriptions, buffers in them, and imported and exported memory.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "host/conformance/checks/device_bench.h"
#include "host/conformance/memory/shared_file.h"

namespace epiphyte::conformance {
namespace {

std::string NameOf(MemoryPlace place) {
  return "memory " + std::to_string(place.memory) + " of device " + std::to_string(place.device);
}

constexpr std::initializer_list<Rule> kOfMemories = {
    Rule::kDeviceTableIsWhole, Rule::kDeviceKeepsExceptions, Rule::kOptionalDeviceFunctions,
    Rule::kMemoriesAreCounted, Rule::kMemoriesAreGiven,      Rule::kMemoriesHaveNames,
    Rule::kAlignmentIsAPower,  Rule::kMemoriesStay,          Rule::kMemoryUseWorks};

void CheckMemories(Journal& journal, const Target& target) {
  DeviceBench bench(journal, target, kOfMemories);
  if (!bench.has_devices()) return bench.Finish();
  for (const uint32_t device : bench.indices()) {
    Demand(bench.host(), bench.devices().AskMemories(device) == bench.devices().Memories(device), Rule::kMemoriesStay,
           "GetMemories said something else of device " + std::to_string(device) + " the second time");
  }
  for (const MemoryPlace place : bench.places()) bench.devices().UseOf(place.device, place.memory);
  PassAll(journal, kOfMemories);
  bench.Finish();
}

void CheckAllocations(Journal& journal, const Target& target) {
  static constexpr std::initializer_list<Rule> kRules = {Rule::kBufferIsGiven, Rule::kBuffersAreNotShared};
  DeviceBench bench(journal, target, kRules);
  if (!bench.has_devices()) return bench.Finish();
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int round = 0; round < 2; ++round) {
    for (const MemoryPlace place : bench.places()) {
      for (const uint64_t size : {1u, 4096u, 65536u, 4096u, 1u}) {
        const uint64_t most = bench.memory(place).max_buffer;
        buffers.push_back(std::make_unique<Buffer>(bench.devices(), place, most == 0 ? size : std::min(size, most)));
      }
    }
    // The older half of the buffers is freed, so that later buffers can reuse their handles.
    buffers.erase(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(buffers.size() / 2));
  }
  buffers.clear();
  PassAll(journal, kRules);
  bench.Finish();
}

void CheckTooMuch(Journal& journal, const Target& target) {
  DeviceBench bench(journal, target, {Rule::kTooMuchIsOutOfMemory});
  if (!bench.has_devices()) return bench.Finish();
  bool any = false;
  bench.host().BlameCrashesOn(Rule::kTooMuchIsOutOfMemory);
  for (const MemoryPlace place : bench.places()) {
    if (bench.memory(place).max_buffer != 0) continue;  // the host never requests more than the limit
    any = true;
    for (const uint64_t size : {UINT64_MAX, UINT64_MAX - 4095, uint64_t{1} << 62}) {
      DebugHost::Failure failure;
      const std::unique_ptr<Buffer> buffer = Buffer::TryAllocate(bench.devices(), place, size, &failure);
      Demand(bench.host(), buffer == nullptr, Rule::kTooMuchIsOutOfMemory,
             "Allocate of " + std::to_string(size) + " bytes in " + NameOf(place) + " succeeded");
      Demand(bench.host(), failure.code == EP_STATUS_OUT_OF_MEMORY, Rule::kTooMuchIsOutOfMemory,
             "Allocate of " + std::to_string(size) + " bytes: " + Describe(failure) + "; OUT_OF_MEMORY is expected");
    }
    DebugHost::Failure failure;
    if (Buffer::TryAllocate(bench.devices(), place, 4096, &failure) == nullptr) {
      EndWith(bench.host(), Rule::kTooMuchIsOutOfMemory,
              "Allocate fails after one that asked for too much: " + Describe(failure));
    }
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  if (any) {
    journal.Pass(Rule::kTooMuchIsOutOfMemory);
  } else {
    journal.NotApplicable(Rule::kTooMuchIsOutOfMemory, "every memory has a max_buffer");
  }
  bench.Finish();
}

void CheckFreedMemory(Journal& journal, const Target& target) {
  constexpr uint64_t kSize = 256 << 10;
  constexpr int kBuffers = 8;
  DeviceBench bench(journal, target, {Rule::kFreedMemoryComesBack, Rule::kTrimKeepsBuffers});
  if (!bench.has_devices()) return bench.Finish();
  for (const MemoryPlace place : bench.places()) {
    const uint64_t most = bench.memory(place).max_buffer;
    const uint64_t size = most == 0 ? kSize : std::min(kSize, most);
    bench.devices().Trim(place.device);
    const uint64_t before = bench.devices().UseOf(place.device, place.memory).used_bytes;
    for (int round = 0; round < 4; ++round) {
      std::vector<std::unique_ptr<Buffer>> buffers;
      for (int i = 0; i < kBuffers; ++i) buffers.push_back(std::make_unique<Buffer>(bench.devices(), place, size));
    }
    bench.devices().Trim(place.device);
    const uint64_t after = bench.devices().UseOf(place.device, place.memory).used_bytes;
    // The plugin may keep some memory for itself.
    Demand(bench.host(), after < before + kBuffers * size, Rule::kFreedMemoryComesBack,
           "in " + NameOf(place) + " " + std::to_string(before) + " bytes were used before " +
               std::to_string(4 * kBuffers) + " buffers of " + std::to_string(size) +
               " bytes were allocated and freed, and " + std::to_string(after) + " after");
  }
  journal.Pass(Rule::kFreedMemoryComesBack);
  if (bench.devices().api().Trim == nullptr) {
    journal.NotApplicable(Rule::kTrimKeepsBuffers, "the plugin has no Trim");
    return bench.Finish();
  }
  bench.host().BlameCrashesOn(Rule::kTrimKeepsBuffers);
  for (const MemoryPlace place : bench.places()) {
    const std::vector<std::byte> bytes = Pattern(4096, place.memory + 1);
    Stream stream(bench.devices(), place.device);
    const Buffer buffer(bench.devices(), place, bytes.size());
    Send(stream, bytes, buffer);
    { const Buffer another(bench.devices(), place, bytes.size()); }
    for (int i = 0; i < 2; ++i) bench.devices().Trim(place.device);
    const Buffer later(bench.devices(), place, bytes.size());
    Send(stream, Pattern(4096, 99), later);
    Demand(bench.host(), Receive(bench.host(), stream, buffer, bytes.size()) == bytes, Rule::kTrimKeepsBuffers,
           "a buffer in " + NameOf(place) + " lost its bytes in Trim");
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kTrimKeepsBuffers);
  bench.Finish();
}

void CheckOutliving(Journal& journal, const Target& target) {
  DeviceBench bench(journal, target, {Rule::kBuffersOutliveProviders});
  if (!bench.has_devices()) return bench.Finish();
  for (const MemoryPlace place : bench.places()) {
    const std::vector<std::byte> bytes = Pattern(4096, place.memory + 11);
    const Buffer buffer(bench.devices(), place, bytes.size());
    {
      Stream stream(bench.devices(), place.device);
      Send(stream, bytes, buffer);
    }
    bench.host().BlameCrashesOn(Rule::kBuffersOutliveProviders);
    bench.RenewProvider();
    Stream stream(bench.devices(), place.device);
    Demand(bench.host(), Receive(bench.host(), stream, buffer, bytes.size()) == bytes, Rule::kBuffersOutliveProviders,
           "a buffer in " + NameOf(place) + " lost its bytes with the provider in whose time it was made");
    bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  }
  journal.Pass(Rule::kBuffersOutliveProviders);
  bench.Finish();
}

void CheckMapping(Journal& journal, const Target& target) {
  static constexpr std::initializer_list<Rule> kRules = {Rule::kMapGivesTheAddress, Rule::kMappedMemoryIsSeen};
  DeviceBench bench(journal, target, kRules);
  if (!bench.has_devices()) return bench.Finish();
  bool any = false;
  for (const MemoryPlace place : bench.places()) {
    if (!bench.memory(place).mappable()) continue;
    any = true;
    const std::vector<std::byte> written = Pattern(4096, 21);
    const std::vector<std::byte> copied = Pattern(4096, 22);
    Buffer buffer(bench.devices(), place, written.size());
    Stream stream(bench.devices(), place.device);
    std::byte* const data = buffer.Map();
    Demand(bench.host(), buffer.Map() == data, Rule::kMapGivesTheAddress, "Map gave another address the second time");
    bench.host().BlameCrashesOn(Rule::kMapGivesTheAddress);
    bench.host().Step("the host writes to what Map gave");
    std::copy(written.begin(), written.end(), data);
    Demand(bench.host(), Receive(bench.host(), stream, buffer, written.size()) == written, Rule::kMappedMemoryIsSeen,
           "a copy from " + NameOf(place) + " doesn't see what the host wrote through Map");
    Send(stream, copied, buffer);
    Demand(bench.host(), std::equal(copied.begin(), copied.end(), data), Rule::kMappedMemoryIsSeen,
           "the host doesn't see through Map what was copied to " + NameOf(place));
    Demand(bench.host(), buffer.Map() == data, Rule::kMapGivesTheAddress, "Map gave another address after work");
    bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  }
  if (any) {
    PassAll(journal, kRules);
  } else {
    NotApplicable(journal, kRules, "no memory is MAPPABLE");
  }
  bench.Finish();
}

// --- memory that comes from outside

// Checks both directions: the buffer reads the memory's bytes, and a copy to the buffer changes the memory.
void CheckIsTheMemory(DeviceBench& bench, const Buffer& buffer, std::span<std::byte> memory, Rule rule,
                      const std::string& what) {
  Stream stream(bench.devices(), buffer.place().device);
  const std::vector<std::byte> there(memory.begin(), memory.end());
  Demand(bench.host(), Receive(bench.host(), stream, buffer, memory.size()) == there, rule,
         what + ": the buffer has other bytes than the memory");
  const std::vector<std::byte> bytes = Pattern(memory.size(), 31);
  Send(stream, bytes, buffer);
  Demand(bench.host(), std::equal(bytes.begin(), bytes.end(), memory.begin()), rule,
         what + ": what is copied to the buffer is not in the memory");
}

EpExternalMemory External(EpHandleType type, uint64_t offset, uint64_t size) {
  EpExternalMemory external = {};
  external.struct_size = sizeof(external);
  external.type = type;
  external.offset = offset;
  external.size = size;
  return external;
}

// Devices import memory in whole pages.
constexpr uint64_t kPage = 4096;

void CheckPointer(DeviceBench& bench, MemoryPlace place) {
  for (const uint64_t offset : {uint64_t{0}, kPage}) {
    LentMemory memory(2 * kPage, {"imported memory", Rule::kImportsEnd, Rule::kImportsEnd, Rule::kImportsEnd},
                      LentMemory::Place::kPage);
    const std::vector<std::byte> bytes = Pattern(memory.size(), 41);
    std::copy(bytes.begin(), bytes.end(), memory.data());
    EpExternalMemory external = External(EP_HANDLE_HOST_POINTER, offset, memory.size() - offset);
    external.pointer = memory.data();
    DebugHost::Failure failure;
    std::unique_ptr<Buffer> buffer = Buffer::TryImport(bench.devices(), place, external, &failure);
    if (failure) EndWith(bench.host(), Rule::kImportsAreTheMemory, "two pages of host memory: " + Describe(failure));
    CheckIsTheMemory(bench, *buffer, {memory.data() + offset, memory.size() - offset}, Rule::kImportsAreTheMemory,
                     "host memory");
    Demand(bench.host(), std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(offset), memory.data()),
           Rule::kImportsEnd, "bytes before the offset of imported memory were written to");
    bench.host().BlameCrashesOn(Rule::kImportsEnd);
    buffer.reset();
    memory.TakeAway();
    // A plugin that kept the pointer crashes here.
    Stream stream(bench.devices(), place.device);
    const Buffer another(bench.devices(), place, kPage);
    Send(stream, Pattern(kPage, 42), another);
    bench.devices().Trim(place.device);
    bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  }
}

// Returns false when the device only takes descriptors of its vendor.
bool CheckDescriptor(DeviceBench& bench, MemoryPlace place) {
  SharedFile file(4 * kPage);
  const std::vector<std::byte> bytes = Pattern(4 * kPage, 51);
  std::copy(bytes.begin(), bytes.end(), file.data());
  EpExternalMemory external = External(EP_HANDLE_OPAQUE_FD, kPage, 2 * kPage);
  external.handle = file.descriptor();
  DebugHost::Failure failure;
  std::unique_ptr<Buffer> buffer = Buffer::TryImport(bench.devices(), place, external, &failure);
  if (failure) return false;
  const std::span<std::byte> memory(file.data() + kPage, 2 * kPage);
  CheckIsTheMemory(bench, *buffer, memory, Rule::kImportsAreTheMemory, "a memfd");
  // A plugin that kept the descriptor's number finds another file under it.
  bench.host().BlameCrashesOn(Rule::kDescriptorsAreDuplicated);
  SharedFile another(4 * kPage);
  file.PutInPlace(another);
  CheckIsTheMemory(bench, *buffer, memory, Rule::kDescriptorsAreDuplicated, "after its descriptor was closed");
  buffer.reset();
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  return true;
}

void CheckImports(Journal& journal, const Target& target) {
  static constexpr std::initializer_list<Rule> kRules = {Rule::kImportsAreTheMemory, Rule::kImportsEnd,
                                                         Rule::kDescriptorsAreDuplicated};
  DeviceBench bench(journal, target, kRules);
  if (!bench.has_devices()) return bench.Finish();
  bool pointers = false;
  bool descriptors = false;
  for (const MemoryPlace place : bench.places()) {
    const uint32_t types = bench.memory(place).import_types;
    if ((types & EP_HANDLE_HOST_POINTER) != 0) {
      pointers = true;
      CheckPointer(bench, place);
    }
    if ((types & EP_HANDLE_OPAQUE_FD) != 0 && CheckDescriptor(bench, place)) descriptors = true;
  }
  if (pointers || descriptors) journal.Pass(Rule::kImportsAreTheMemory);
  if (pointers) journal.Pass(Rule::kImportsEnd);
  if (descriptors) journal.Pass(Rule::kDescriptorsAreDuplicated);
  NotApplicable(journal, kRules, "no memory imports what the suite can make: host memory, a memfd");
  bench.Finish();
}

void CheckUnknownHandles(Journal& journal, const Target& target) {
  DeviceBench bench(journal, target, {Rule::kUnknownHandlesAreRefused});
  if (!bench.has_devices()) return bench.Finish();
  LentMemory memory(kPage,
                    {"memory of an unknown type", Rule::kUnknownHandlesAreRefused, Rule::kUnknownHandlesAreRefused,
                     Rule::kUnknownHandlesAreRefused},
                    LentMemory::Place::kPage);
  bench.host().BlameCrashesOn(Rule::kUnknownHandlesAreRefused);
  for (const MemoryPlace place : bench.places()) {
    for (const EpHandleType type :
         {EP_HANDLE_HOST_POINTER, EP_HANDLE_DMA_BUF, EP_HANDLE_OPAQUE_FD, EP_HANDLE_WIN32, 1u << 30, 0u}) {
      if ((bench.memory(place).import_types & type) != 0) continue;
      EpExternalMemory external = External(type, 0, memory.size());
      external.pointer = memory.data();
      external.handle = -1;
      DebugHost::Failure failure;
      Buffer::TryImport(bench.devices(), place, external, &failure);
      Demand(bench.host(), static_cast<bool>(failure), Rule::kUnknownHandlesAreRefused,
             NameOf(place) + " imported handle type " + std::to_string(type) + ", and has the types " +
                 std::to_string(bench.memory(place).import_types));
    }
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kUnknownHandlesAreRefused);
  bench.Finish();
}

// Returns a memory of the device that can import what another memory exports; null: there is none.
const MemoryPlace* ImporterOf(DeviceBench& bench, uint32_t device, EpHandleType type) {
  for (const MemoryPlace& place : bench.places()) {
    if (place.device == device && (bench.memory(place).import_types & type) != 0) return &place;
  }
  return nullptr;
}

void CheckExport(DeviceBench& bench, MemoryPlace place, EpHandleType type) {
  constexpr Rule kRule = Rule::kExportsAreTheBuffer;
  DebugHost& host = bench.host();
  PluginDevices& devices = bench.devices();
  const std::vector<std::byte> bytes = Pattern(2 * kPage, 61);
  const Buffer buffer(devices, place, bytes.size());
  Stream stream(devices, place.device);
  Send(stream, bytes, buffer);
  EpExternalMemory external = {};
  external.struct_size = sizeof(external);
  const DebugHost::Failure failure =
      devices.Call("Export", [&] { return devices.api().Export(devices.plugin(), buffer.handle(), type, &external); });
  if (failure) EndWith(host, kRule, "handle type " + std::to_string(type) + ": " + Describe(failure));
  Demand(host, external.struct_size == sizeof(external) && external.type == type && external.size >= bytes.size(),
         kRule,
         "Export gave type " + std::to_string(external.type) + ", size " + std::to_string(external.size) +
             " and struct_size " + std::to_string(external.struct_size) + " for a buffer of " +
             std::to_string(bytes.size()) + " bytes as type " + std::to_string(type));
  if (type == EP_HANDLE_HOST_POINTER) {
    Demand(host, external.pointer != nullptr, kRule, "Export gave no pointer");
    host.BlameCrashesOn(kRule);
    auto* data = static_cast<std::byte*>(external.pointer) + external.offset;
    CheckIsTheMemory(bench, buffer, {data, bytes.size()}, kRule, "an exported pointer");
    return host.BlameCrashesOn(Rule::kDoesNotCrash);
  }
  const OwnedDescriptor descriptor(external.handle);
  Demand(host, descriptor.IsOpen(), kRule, "Export gave no descriptor that is open");
  const MemoryPlace* importer = ImporterOf(bench, place.device, type);
  if (importer == nullptr) return;
  DebugHost::Failure refusal;
  const std::unique_ptr<Buffer> imported = Buffer::TryImport(devices, *importer, external, &refusal);
  if (refusal) EndWith(host, kRule, "what Export gave is not imported: " + Describe(refusal));
  Demand(host, Receive(host, stream, *imported, bytes.size()) == bytes, kRule,
         "what Export gave has other bytes than the buffer");
  const std::vector<std::byte> others = Pattern(2 * kPage, 62);
  Send(stream, others, *imported);
  Demand(host, Receive(host, stream, buffer, others.size()) == others, kRule,
         "what is copied to what Export gave is not in the buffer");
}

void CheckExports(Journal& journal, const Target& target) {
  DeviceBench bench(journal, target, {Rule::kExportsAreTheBuffer});
  if (!bench.has_devices()) return bench.Finish();
  bool any = false;
  for (const MemoryPlace place : bench.places()) {
    for (const EpHandleType type : {EP_HANDLE_HOST_POINTER, EP_HANDLE_DMA_BUF, EP_HANDLE_OPAQUE_FD}) {
      if ((bench.memory(place).export_types & type) == 0) continue;
      any = true;
      CheckExport(bench, place, type);
    }
  }
  if (any) {
    journal.Pass(Rule::kExportsAreTheBuffer);
  } else {
    journal.NotApplicable(Rule::kExportsAreTheBuffer, "no memory exports what the suite can look into");
  }
  bench.Finish();
}

constexpr Check kDeviceMemoryChecks[] = {
    {"memories", CheckMemories},
    {"buffers", CheckAllocations},
    {"too large buffers", CheckTooMuch},
    {"freed memory", CheckFreedMemory},
    {"buffers and providers", CheckOutliving},
    {"mapping", CheckMapping},
    {"imports", CheckImports},
    {"unknown imports", CheckUnknownHandles},
    {"exports", CheckExports},
};

}  // namespace

std::span<const Check> DeviceMemoryChecks() { return kDeviceMemoryChecks; }

}  // namespace epiphyte::conformance
