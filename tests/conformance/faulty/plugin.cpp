// Descriptor, devices and providers of the faulty plugin.
#include <cstdio>

#include "epiphyte/ep_entry.h"
#include "tests/conformance/faulty/device.h"

namespace {

const EpHostInfo* g_last_host = nullptr;  // the host, for the fault that keeps it in a global
int g_shutdowns = 0;
int g_providers = 0;

EpStatus* EP_CALL Initialize(const EpHostInfo* host, const EpPluginEnvironment*, EpPlugin** plugin) {
  g_last_host = host;
  if (Has("303_initializes_once") && g_shutdowns > 0)
    return Refuse(host, EP_STATUS_FAIL, "the driver can't be opened twice");
  *plugin = new EpPlugin{host, {}};
  EpDeviceInfo& device = (*plugin)->device;
  device.struct_size = sizeof(device);
  device.kind = EP_DEVICE_OTHER;
  device.name = "faulty device";
  device.vendor = device.driver_version = device.architecture = device.location = device.uuid = "";
  if (Has("316_null_device_text")) device.driver_version = nullptr;
  return nullptr;
}

void EP_CALL Shutdown(EpPlugin* plugin) {
  ++g_shutdowns;
  if (Has("817_keeps_blob") && plugin->blob != nullptr) {
    volatile char late = *static_cast<const char*>(plugin->blob);
    (void)late;
  }
  delete plugin;
}

EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  *count = 1;
  if (capacity > 0) devices[0] = Has("317_devices_move") ? new EpDeviceInfo(plugin->device) : &plugin->device;
  if (capacity > 0 && Has("313_overfills_devices")) devices[1] = &plugin->device;
  return nullptr;
}

EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  const EpHostInfo* host = Has("304_host_in_a_global") ? g_last_host : plugin->host;
  static const EpProviderConfig* kept = nullptr;
  if (Has("405_keeps_config") && kept != nullptr && kept->option_count > 1000) return nullptr;
  kept = config;
  static EpThreadPool* pool = nullptr;
  if (Has("1011_keeps_pool") && pool != nullptr) host->services->GetThreadCount(pool);
  pool = config->thread_pool;
  if (DeclaresOptions()) {
    if (EpStatus* status = CheckOptions(host, *config)) return status;
  } else if (config->option_count != 0 && !Has("404_accepts_any_option")) {
    return Refuse(host, EP_STATUS_INVALID_ARGUMENT, "there are no options");
  }
  if (Has("406_one_provider") && g_providers > 0) return Refuse(host, EP_STATUS_FAIL, "the device is in use");
  ++g_providers;
  auto* made = new EpProvider{plugin, config->thread_pool};
  made->makes_contexts = config->context_enabled != 0;
  if (EpStatus* status = JoinGroup(made, config->share_group)) {
    delete made;
    return status;
  }
  *provider = made;
  return nullptr;
}

void EP_CALL DestroyProvider(EpProvider* provider) {
  --g_providers;
  if (Has("1224_provider_owns_memory")) WipeBuffers();
  if (provider->workspace != nullptr && provider->workspace->owner == provider)
    provider->workspace->owner_is_gone = true;
  delete provider;
}

void EP_CALL ReleaseKernel(EpKernel* kernel) { delete kernel; }

EpStatus* EP_CALL CreateState(EpKernel*, EpKernelState** state) {
  *state = reinterpret_cast<EpKernelState*>(new int(0));
  return nullptr;
}

const void* EP_CALL GetExtension(EpPlugin*, const char* id) {
  static const int table = 0;
  const bool has_device = IsOnDevice() && !Has("1261_has_no_table");
  if (has_device && std::strcmp(id, EP_DEVICE_EXTENSION) == 0) return DeviceTable();
  if (DeclaresOptions() && std::strcmp(id, EP_OPTIONS_EXTENSION) == 0) return OptionsTable();
  if (IsAbout("16", "schema") && std::strcmp(id, EP_SCHEMA_EXTENSION) == 0) return SchemaTable();
  const bool explains = IsAbout("17", "explain") || Has("508_a_note_of_garbage");
  if (explains && std::strcmp(id, EP_EXPLAIN_EXTENSION) == 0) return ExplainTable();
  return Has("318_extension_for_all") ? &table : nullptr;
}

}  // namespace

EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo*, const EpPluginEnvironment*) {
  static const char* const sources[] = {"FaultySource"};
  static const EpProviderApi provider = {sizeof(EpProviderApi),
                                         0,
                                         CreateProvider,
                                         DestroyProvider,
                                         GetCapability,
                                         Compile,
                                         GetEpContextNodes,
                                         LoadContext,
                                         ReleaseKernel,
                                         Has("213_half_of_state_pair") ? CreateState : nullptr,
                                         nullptr,
                                         Execute,
                                         DescribeKernel};
  static EpPluginDescriptor descriptor = {sizeof(EpPluginDescriptor),
                                          EP_ABI_VERSION,
                                          "faulty",
                                          "tests",
                                          "1.0.0",
                                          sources,
                                          1,
                                          0,
                                          Initialize,
                                          Shutdown,
                                          GetDevices,
                                          CheckContext,
                                          &provider,
                                          GetExtension};
  if (Has("108_prints")) std::puts("faulty says hello");
  if (Has("204_null_vendor")) descriptor.vendor = nullptr;
  if (Has("214_no_source")) descriptor.source_count = 0;
  static int asked = 0;
  if (Has("107_other_answer") && ++asked > 1) descriptor.version = "2.0.0";
  return &descriptor;
}
