#include "core/abi/device_tables.h"

#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "core/abi/plugin_calls.h"
#include "core/base/abi_fill.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxNameBytes = 63;
constexpr uint64_t kMaxAlignment = 65536;

void CheckTable(const LoadedPlugin& plugin, const EpDeviceApi& api) {
  std::string problem = AbiProblem(api);
  if (problem.empty()) {
    const std::pair<bool, const char*> functions[] = {{api.GetMemories != nullptr, "GetMemories"},
                                                      {api.GetMemoryUse != nullptr, "GetMemoryUse"},
                                                      {api.Allocate != nullptr, "Allocate"},
                                                      {api.Import != nullptr, "Import"},
                                                      {api.Free != nullptr, "Free"},
                                                      {api.CreateStream != nullptr, "CreateStream"},
                                                      {api.DestroyStream != nullptr, "DestroyStream"},
                                                      {api.Copy != nullptr, "Copy"},
                                                      {api.Signal != nullptr, "Signal"},
                                                      {api.Wait != nullptr, "Wait"},
                                                      {api.Synchronize != nullptr, "Synchronize"}};
    for (const auto& [is_there, name] : functions) {
      if (!is_there)
        problem = fmt::format("EpDeviceApi::{} is null, but only Export, Map, Trim and OnReached may be", name);
    }
  }
  if (problem.empty()) return;
  Fail(StatusCode::kEpFail, "provider '{}': its table of " EP_DEVICE_EXTENSION " can't be used: {}", plugin.name,
       problem);
}

// Problem of the memory's description; "" when there is none.
std::string ProblemOf(const EpMemoryInfo& memory, const EpDeviceApi& api, std::set<std::string_view>* names) {
  if (memory.name == nullptr || memory.name[0] == '\0') return "has no name";
  const size_t length = strnlen(memory.name, kMaxNameBytes + 1);
  if (length > kMaxNameBytes) return fmt::format("has a name of more than {} bytes", kMaxNameBytes);
  const std::string_view name(memory.name, length);
  if (PrintableLine(name) != name) {
    return fmt::format("is called '{}', one line of printable UTF-8 expected", PrintableLine(name));
  }
  if (!names->insert(name).second) return fmt::format("is called '{}', as one before it is", name);
  if (memory.alignment == 0 || (memory.alignment & (memory.alignment - 1)) != 0 || memory.alignment > kMaxAlignment) {
    return fmt::format("('{}') has an alignment of {}, a power of two up to {} expected", name, memory.alignment,
                       kMaxAlignment);
  }
  if ((memory.flags & EP_MEMORY_MAPPABLE) != 0 && api.Map == nullptr) {
    return fmt::format("('{}') is mappable, but EpDeviceApi::Map is null", name);
  }
  if (memory.export_types != 0 && api.Export == nullptr) {
    return fmt::format("('{}') has export types, but EpDeviceApi::Export is null", name);
  }
  return {};
}

}  // namespace

const EpDeviceApi* DeviceApiOf(const LoadedPlugin& plugin) {
  const EpPluginDescriptor& descriptor = *plugin.descriptor;
  if (descriptor.GetExtension == nullptr) return nullptr;
  const EpDeviceApi* api = nullptr;
  CallPlugin(plugin, "GetExtension", [&]() -> EpStatus* {
    api = static_cast<const EpDeviceApi*>(descriptor.GetExtension(plugin.plugin, EP_DEVICE_EXTENSION));
    return nullptr;
  });
  if (api != nullptr) CheckTable(plugin, *api);
  return api;
}

std::vector<EpMemoryInfo> MemoriesOf(const LoadedPlugin& plugin, const EpDeviceApi& api, uint32_t device) {
  std::vector<const EpMemoryInfo*> given(EP_MAX_MEMORIES, nullptr);
  uint32_t count = 0;
  CallPlugin(plugin, "GetMemories",
             [&] { return api.GetMemories(plugin.plugin, device, given.data(), EP_MAX_MEMORIES, &count); });
  if (count == 0 || count > EP_MAX_MEMORIES) {
    Fail(StatusCode::kEpFail, "provider '{}': GetMemories says that device '{}' has {} memories, 1 to {} expected",
         plugin.name, DeviceName(plugin, device), count, EP_MAX_MEMORIES);
  }
  std::vector<EpMemoryInfo> memories;
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < count; ++i) {
    std::string problem = given[i] == nullptr ? "is null" : AbiProblem(*given[i]);
    if (problem.empty()) {
      memories.push_back(*given[i]);
      problem = ProblemOf(memories.back(), api, &names);
    }
    if (problem.empty()) continue;
    Fail(StatusCode::kEpFail, "provider '{}': memory {} that GetMemories gives for device '{}' {}", plugin.name, i,
         DeviceName(plugin, device), problem);
  }
  return memories;
}

std::string DeviceName(const LoadedPlugin& plugin, uint32_t device) {
  return device < plugin.devices.size() ? plugin.devices[device].name : fmt::format("device {}", device);
}

bool IsPresent(const LoadedPlugin& plugin, uint32_t device) {
  return device >= plugin.devices.size() || !plugin.devices[device].compile_only;
}

}  // namespace epiphyte::core
