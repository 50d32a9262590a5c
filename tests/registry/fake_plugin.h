// A plugin inside the test program that counts its calls. Tests may break its descriptor. It has a host of its own.
//
//   FakePlugin& fake = FakePlugin::Reset();
//   fake.descriptor.name = nullptr;
//   catalog.Register(FakePlugin::Query, 0);
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_options.h"
#include "epiphyte/ep_plugin.h"

namespace epiphyte::test {

struct FakePlugin {
  EpPluginDescriptor descriptor;
  EpProviderApi provider;
  std::vector<const char*> sources;
  std::vector<EpDeviceInfo> devices;
  std::vector<const EpDeviceInfo*> device_pointers;  // answer of GetDevices; filled from `devices` when empty
  uint32_t device_count;                             // count that GetDevices returns; UINT32_MAX: the true one
  std::vector<EpOptionInfo> options;                 // answer of GetOptions when `options_table` is set
  const EpOptionsApi* options_table;                 // null: the plugin declares no options

  bool answers = true;           // false: the query answers null
  std::string initialize_error;  // non-empty: Initialize fails with this message
  std::string no_device;         // non-empty: GetDevices returns none, with this reason
  std::function<void(const char*)> on_call = [](const char*) {};  // called with each function's name; may throw

  int queries = 0;
  int initializations = 0;
  int shutdowns = 0;
  std::string manifest_path;
  std::string library_path;
  std::string directory;
  std::string name;                                             // name in the query's environment
  std::vector<std::pair<std::string, std::string>> parameters;  // parameters in the query's environment

  // Makes a plugin named "fake" with the source "FakeSource" and one device. All counters are 0.
  static FakePlugin& Reset();
  static FakePlugin& Instance() {
    static FakePlugin* const fake = new FakePlugin;
    return *fake;
  }
  static const EpPluginDescriptor* EP_CALL Query(const EpHostInfo* host, const EpPluginEnvironment* environment);
};

namespace fake_calls {

struct FakeStatus {
  EpStatusCode code;
  std::string message;
};

inline std::atomic<int> g_live_statuses{0};
inline const EpHostInfo* g_host = nullptr;

inline EpStatus* EP_CALL CreateStatus(EpStatusCode code, const char* message) {
  ++g_live_statuses;
  return reinterpret_cast<EpStatus*>(new FakeStatus{code, message == nullptr ? "" : message});
}
inline EpStatusCode EP_CALL StatusCodeOf(const EpStatus* status) {
  return reinterpret_cast<const FakeStatus*>(status)->code;
}
inline const char* EP_CALL StatusMessage(const EpStatus* status) {
  return reinterpret_cast<const FakeStatus*>(status)->message.c_str();
}
inline void EP_CALL ReleaseStatus(EpStatus* status) {
  if (status != nullptr) --g_live_statuses;
  delete reinterpret_cast<FakeStatus*>(status);
}

inline EpStatus* EP_CALL Initialize(const EpHostInfo*, const EpPluginEnvironment* environment, EpPlugin** plugin) {
  FakePlugin& fake = FakePlugin::Instance();
  ++fake.initializations;
  fake.library_path = environment->library_path;
  fake.directory = environment->directory;
  fake.manifest_path = environment->manifest_path;
  fake.name = environment->name;
  fake.parameters.clear();
  for (uint32_t i = 0; i < environment->parameter_count; ++i) {
    fake.parameters.emplace_back(environment->parameters[i].key, environment->parameters[i].value);
  }
  fake.on_call("Initialize");
  *plugin = reinterpret_cast<EpPlugin*>(&fake);
  if (!fake.initialize_error.empty()) return g_host->status->Create(EP_STATUS_FAIL, fake.initialize_error.c_str());
  return nullptr;
}

inline void EP_CALL Shutdown(EpPlugin*) {
  ++FakePlugin::Instance().shutdowns;
  FakePlugin::Instance().on_call("Shutdown");
}

inline EpStatus* EP_CALL GetDevices(EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  FakePlugin& fake = FakePlugin::Instance();
  fake.on_call("GetDevices");
  if (!fake.no_device.empty()) return fake_calls::g_host->status->Create(EP_STATUS_NOT_FOUND, fake.no_device.c_str());
  if (fake.device_pointers.empty()) {
    for (const EpDeviceInfo& device : fake.devices) fake.device_pointers.push_back(&device);
  }
  const size_t filled = std::min<size_t>(capacity, fake.device_pointers.size());
  std::copy_n(fake.device_pointers.begin(), filled, devices);
  *count = fake.device_count == UINT32_MAX ? static_cast<uint32_t>(fake.device_pointers.size()) : fake.device_count;
  return nullptr;
}

inline EpStatus* EP_CALL GetOptions(EpPlugin*, const EpOptionInfo** options, uint32_t capacity, uint32_t* count) {
  FakePlugin& fake = FakePlugin::Instance();
  fake.on_call("GetOptions");
  for (size_t i = 0; i < fake.options.size() && i < capacity; ++i) options[i] = &fake.options[i];
  *count = static_cast<uint32_t>(fake.options.size());
  return nullptr;
}
inline const void* EP_CALL GetExtension(EpPlugin*, const char* id) {
  return std::string_view(id) == EP_OPTIONS_EXTENSION ? FakePlugin::Instance().options_table : nullptr;
}
inline constexpr EpOptionsApi kOptionsApi = {sizeof(EpOptionsApi), 0, GetOptions};

inline EpStatus* EP_CALL CreateProvider(EpPlugin*, const EpProviderConfig*, EpProvider**) { return nullptr; }
inline void EP_CALL DestroyProvider(EpProvider*) {}
inline EpStatus* EP_CALL GetCapability(EpProvider*, const EpGraph*, EpCapabilitySink*) { return nullptr; }
inline EpStatus* EP_CALL Compile(EpProvider*, const EpPartitionInfo* const*, uint64_t, EpTask*, EpKernel**) {
  return nullptr;
}
inline void EP_CALL ReleaseKernel(EpKernel*) {}
inline EpStatus* EP_CALL Execute(EpKernel*, EpKernelState*, EpRun*) { return nullptr; }

}  // namespace fake_calls

inline EpDeviceInfo FakeDevice(EpDeviceKind kind, const char* name) {
  return {sizeof(EpDeviceInfo), kind, 0, 0, 0, 0, name, "Acme", "4.2", "v1", "", "", 0};
}

inline EpOptionInfo FakeOption(EpOptionType type, const char* name, const char* default_value) {
  return {sizeof(EpOptionInfo), type, name, default_value, "what it is for", nullptr, nullptr, nullptr, 0, 0};
}

inline FakePlugin& FakePlugin::Reset() {
  FakePlugin& fake = Instance();
  fake = FakePlugin();
  fake.provider = {};
  fake.provider.struct_size = sizeof(EpProviderApi);
  fake.provider.CreateProvider = fake_calls::CreateProvider;
  fake.provider.DestroyProvider = fake_calls::DestroyProvider;
  fake.provider.GetCapability = fake_calls::GetCapability;
  fake.provider.Compile = fake_calls::Compile;
  fake.provider.ReleaseKernel = fake_calls::ReleaseKernel;
  fake.provider.Execute = fake_calls::Execute;
  fake.sources = {"FakeSource"};
  fake.devices = {FakeDevice(EP_DEVICE_NPU, "Fake 1")};
  fake.device_count = UINT32_MAX;
  fake.descriptor = {};
  fake.descriptor.struct_size = sizeof(EpPluginDescriptor);
  fake.descriptor.abi_version = EP_ABI_VERSION;
  fake.descriptor.name = "fake";
  fake.descriptor.vendor = "Acme";
  fake.descriptor.version = "1.2.3";
  fake.descriptor.sources = fake.sources.data();
  fake.descriptor.source_count = 1;
  fake.descriptor.Initialize = fake_calls::Initialize;
  fake.descriptor.Shutdown = fake_calls::Shutdown;
  fake.descriptor.GetDevices = fake_calls::GetDevices;
  fake.descriptor.provider = &fake.provider;
  fake.descriptor.GetExtension = fake_calls::GetExtension;
  return fake;
}

inline const EpPluginDescriptor* EP_CALL FakePlugin::Query(const EpHostInfo* host, const EpPluginEnvironment*) {
  FakePlugin& fake = Instance();
  ++fake.queries;
  fake.on_call("Query");
  fake_calls::g_host = host;
  return fake.answers ? &fake.descriptor : nullptr;
}

// A host of ABI 0.2 with a single table, the one for statuses.
inline const EpHostInfo& FakeHost() {
  static const EpStatusApi kStatus = {sizeof(EpStatusApi),       0,
                                      fake_calls::CreateStatus,  fake_calls::StatusCodeOf,
                                      fake_calls::StatusMessage, fake_calls::ReleaseStatus};
  static const EpHostInfo kHost = [] {
    EpHostInfo host = {};
    host.struct_size = sizeof host;
    host.abi_min = EP_MAKE_ABI_VERSION(0, 2);
    host.abi_max = EP_MAKE_ABI_VERSION(0, 2);
    host.host_name = "registry tests";
    host.host_version = "1";
    host.status = &kStatus;
    return host;
  }();
  return kHost;
}

// Returns the number of statuses that were made and not released.
inline int LiveStatuses() { return fake_calls::g_live_statuses.load(); }

}  // namespace epiphyte::test
