/* One library for any number of providers, like a bridge to plugins of another runtime. The manifest's name and its
 * parameter `backend` choose the provider. Without that parameter the library offers no provider. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epiphyte/ep_entry.h"

enum { kMostBridges = 4 };

/* The answer to the query: one descriptor for each environment. Repeated queries get the same one. */
typedef struct Bridge {
  char name[65];
  char backend[65];
  char source[80];
  const char* sources[1];
  EpPluginDescriptor descriptor;
} Bridge;

struct EpPlugin {
  const EpHostInfo* host;
  EpDeviceInfo device;
};

static Bridge bridges[kMostBridges];

static const char* BackendOf(const EpPluginEnvironment* environment) {
  uint32_t i;
  for (i = 0; i < environment->parameter_count; ++i) {
    if (strcmp(environment->parameters[i].key, "backend") == 0) return environment->parameters[i].value;
  }
  return "";
}

static EpStatus* EP_CALL Initialize(const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin) {
  int i;
  for (i = 0; i < kMostBridges && strcmp(bridges[i].name, environment->name) != 0; ++i) {
  }
  *plugin = calloc(1, sizeof(EpPlugin));
  if (i == kMostBridges || *plugin == NULL) return host->status->Create(EP_STATUS_OUT_OF_MEMORY, "no room");
  (*plugin)->host = host;
  (*plugin)->device.struct_size = sizeof(EpDeviceInfo);
  (*plugin)->device.kind = EP_DEVICE_OTHER;
  (*plugin)->device.name = bridges[i].backend;
  (*plugin)->device.vendor = (*plugin)->device.driver_version = (*plugin)->device.architecture = "";
  (*plugin)->device.location = (*plugin)->device.uuid = "";
  return NULL;
}

static void EP_CALL Shutdown(EpPlugin* plugin) { free(plugin); }

static EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity,
                                    uint32_t* count) {
  *count = 1;
  if (capacity > 0) devices[0] = &plugin->device;
  return NULL;
}

static EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  (void)config;
  *provider = (EpProvider*)plugin;
  return NULL;
}
static void EP_CALL DestroyProvider(EpProvider* provider) { (void)provider; }
static EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
  (void)provider;
  (void)graph;
  (void)sink;
  return NULL;
}
static EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                                 EpTask* task, EpKernel** kernels) {
  (void)partitions;
  (void)count;
  (void)task;
  (void)kernels;
  return ((EpPlugin*)provider)->host->status->Create(EP_STATUS_NOT_IMPLEMENTED, "nothing was claimed");
}
static void EP_CALL ReleaseKernel(EpKernel* kernel) { (void)kernel; }
static EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState* state, EpRun* run) {
  (void)kernel;
  (void)state;
  (void)run;
  return NULL;
}

static const EpProviderApi provider_api = {
    sizeof(EpProviderApi), 0,    CreateProvider, DestroyProvider, GetCapability, Compile, NULL, NULL,
    ReleaseKernel,         NULL, NULL,           Execute,         NULL};

EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host,
                                                          const EpPluginEnvironment* environment) {
  const char* backend = BackendOf(environment);
  Bridge* bridge;
  int i;
  (void)host;
  if (*backend == '\0') return NULL;
  for (i = 0; i < kMostBridges; ++i) {
    if (bridges[i].name[0] == '\0' || strcmp(bridges[i].name, environment->name) == 0) break;
  }
  if (i == kMostBridges) return NULL;
  bridge = &bridges[i];
  snprintf(bridge->name, sizeof(bridge->name), "%s", environment->name);
  snprintf(bridge->backend, sizeof(bridge->backend), "%s", backend);
  snprintf(bridge->source, sizeof(bridge->source), "%sSource", environment->name);
  bridge->sources[0] = bridge->source;
  bridge->descriptor.struct_size = sizeof(bridge->descriptor);
  bridge->descriptor.abi_version = EP_MAKE_ABI_VERSION(0, 2);
  bridge->descriptor.name = bridge->name;
  bridge->descriptor.vendor = "tests";
  bridge->descriptor.version = "1.0.0";
  bridge->descriptor.sources = bridge->sources;
  bridge->descriptor.source_count = 1;
  bridge->descriptor.Initialize = Initialize;
  bridge->descriptor.Shutdown = Shutdown;
  bridge->descriptor.GetDevices = GetDevices;
  bridge->descriptor.provider = &provider_api;
  return &bridge->descriptor;
}
