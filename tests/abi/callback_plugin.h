// A plugin inside the test program that claims the nodes of chosen operators. While it compiles and executes, it calls
// functions of the test, which can look at what the plugin is given and call the host.
//
//   CallbackPlugin& callback_plugin = CallbackPlugin::Reset();
//   callback_plugin.claims = {"Add"};
//   callback_plugin.on_compile = [&](EpTask* task, const EpPartitionInfo& partition) { … };
//   callback_plugin.on_execute = [&](EpRun* run) { … };                 // sets the outputs
//   environment.catalog().Register(CallbackPlugin::Query, 1000);
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "epiphyte/ep_plugin.h"

namespace epiphyte::test {

struct CallbackPlugin {
  std::set<std::string> claims;
  std::function<EpStatus*(EpTask*, const EpPartitionInfo&)> on_compile;
  std::function<EpStatus*(EpRun*)> on_execute;
  std::function<void()> on_destroy;  // called in DestroyProvider
  const EpHostInfo* host = nullptr;

  static CallbackPlugin& Instance() {
    static CallbackPlugin* const callback_plugin = new CallbackPlugin;
    return *callback_plugin;
  }
  static CallbackPlugin& Reset() { return Instance() = CallbackPlugin(); }
  static const EpPluginDescriptor* EP_CALL Query(const EpHostInfo* host, const EpPluginEnvironment*);
};

namespace callback_plugin_calls {

inline EpStatus* EP_CALL Initialize(const EpHostInfo*, const EpPluginEnvironment*, EpPlugin** plugin) {
  *plugin = reinterpret_cast<EpPlugin*>(&CallbackPlugin::Instance());
  return nullptr;
}
inline void EP_CALL Shutdown(EpPlugin*) {}
inline EpStatus* EP_CALL GetDevices(EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  static const EpDeviceInfo kDevice = {
      sizeof(EpDeviceInfo), EP_DEVICE_OTHER, 0, 0, 0, 0, "callback_plugin", "tests", "1", "any", "", "", 0};
  *count = 1;
  if (capacity > 0) devices[0] = &kDevice;
  return nullptr;
}
inline EpStatus* EP_CALL CreateProvider(EpPlugin*, const EpProviderConfig*, EpProvider** provider) {
  *provider = reinterpret_cast<EpProvider*>(&CallbackPlugin::Instance());
  return nullptr;
}
inline void EP_CALL DestroyProvider(EpProvider*) {
  if (CallbackPlugin::Instance().on_destroy) CallbackPlugin::Instance().on_destroy();
}
inline EpStatus* EP_CALL GetCapability(EpProvider*, const EpGraph* graph, EpCapabilitySink* sink) {
  const CallbackPlugin& callback_plugin = CallbackPlugin::Instance();
  EpGraphInfo info = {};
  info.struct_size = sizeof info;
  if (EpStatus* status = callback_plugin.host->graph->GetGraphInfo(graph, &info)) return status;
  std::vector<const EpNode*> mine;
  for (uint64_t i = 0; i < info.node_count; ++i) {
    EpNodeInfo node = {};
    node.struct_size = sizeof node;
    if (EpStatus* status = callback_plugin.host->graph->GetNodeInfo(info.nodes[i], &node)) return status;
    if (callback_plugin.claims.contains(node.op_type)) mine.push_back(info.nodes[i]);
  }
  return callback_plugin.host->capability->SupportNodes(sink, mine.data(), mine.size());
}
inline EpStatus* EP_CALL Compile(EpProvider*, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
                                 EpKernel** kernels) {
  const CallbackPlugin& callback_plugin = CallbackPlugin::Instance();
  for (uint64_t i = 0; i < count; ++i) {
    if (callback_plugin.on_compile) {
      if (EpStatus* status = callback_plugin.on_compile(task, *partitions[i])) return status;
    }
    kernels[i] = reinterpret_cast<EpKernel*>(new int(0));
  }
  return nullptr;
}
inline void EP_CALL ReleaseKernel(EpKernel* kernel) { delete reinterpret_cast<int*>(kernel); }
inline EpStatus* EP_CALL Execute(EpKernel*, EpKernelState*, EpRun* run) {
  const CallbackPlugin& callback_plugin = CallbackPlugin::Instance();
  if (callback_plugin.on_execute) return callback_plugin.on_execute(run);
  return callback_plugin.host->status->Create(EP_STATUS_FAIL, "the test says nothing about running");
}

}  // namespace callback_plugin_calls

inline const EpPluginDescriptor* EP_CALL CallbackPlugin::Query(const EpHostInfo* host, const EpPluginEnvironment*) {
  static const EpProviderApi kProvider = [] {
    EpProviderApi api = {};
    api.struct_size = sizeof api;
    api.CreateProvider = callback_plugin_calls::CreateProvider;
    api.DestroyProvider = callback_plugin_calls::DestroyProvider;
    api.GetCapability = callback_plugin_calls::GetCapability;
    api.Compile = callback_plugin_calls::Compile;
    api.ReleaseKernel = callback_plugin_calls::ReleaseKernel;
    api.Execute = callback_plugin_calls::Execute;
    return api;
  }();
  static const EpPluginDescriptor kDescriptor = [] {
    EpPluginDescriptor descriptor = {};
    descriptor.struct_size = sizeof descriptor;
    descriptor.abi_version = EP_ABI_VERSION;
    descriptor.name = "callback_plugin";
    descriptor.vendor = "tests";
    descriptor.version = "1.0.0";
    descriptor.Initialize = callback_plugin_calls::Initialize;
    descriptor.Shutdown = callback_plugin_calls::Shutdown;
    descriptor.GetDevices = callback_plugin_calls::GetDevices;
    descriptor.provider = &kProvider;
    return descriptor;
  }();
  CallbackPlugin::Instance().host = host;
  return &kDescriptor;
}

}  // namespace epiphyte::test
