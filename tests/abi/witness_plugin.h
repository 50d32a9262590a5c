// A plugin inside the test program that claims the nodes of chosen operators and lets a test look on, and ask the host
// for things, while it compiles and executes.
//
//   Witness& witness = Witness::Reset();
//   witness.claims = {"Add"};
//   witness.on_compile = [&](EpTask* task, const EpPartitionInfo& partition) { … };
//   witness.on_execute = [&](EpRun* run) { … };                 // sets the outputs
//   environment.catalog().Register(Witness::Query, 1000);
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "epiphyte/ep_plugin.h"

namespace epiphyte::test {

struct Witness {
  std::set<std::string> claims;
  std::function<EpStatus*(EpTask*, const EpPartitionInfo&)> on_compile;
  std::function<EpStatus*(EpRun*)> on_execute;
  std::function<void()> on_destroy;  // in DestroyProvider
  const EpHostInfo* host = nullptr;

  static Witness& Instance() {
    static Witness* const witness = new Witness;
    return *witness;
  }
  static Witness& Reset() { return Instance() = Witness(); }
  static const EpPluginDescriptor* EP_CALL Query(const EpHostInfo* host, const EpPluginEnvironment*);
};

namespace witness_calls {

inline EpStatus* EP_CALL Initialize(const EpHostInfo*, const EpPluginEnvironment*, EpPlugin** plugin) {
  *plugin = reinterpret_cast<EpPlugin*>(&Witness::Instance());
  return nullptr;
}
inline void EP_CALL Shutdown(EpPlugin*) {}
inline EpStatus* EP_CALL GetDevices(EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  static const EpDeviceInfo kDevice = {
      sizeof(EpDeviceInfo), EP_DEVICE_OTHER, 0, 0, 0, 0, "witness", "tests", "1", "any", "", "", 0};
  *count = 1;
  if (capacity > 0) devices[0] = &kDevice;
  return nullptr;
}
inline EpStatus* EP_CALL CreateProvider(EpPlugin*, const EpProviderConfig*, EpProvider** provider) {
  *provider = reinterpret_cast<EpProvider*>(&Witness::Instance());
  return nullptr;
}
inline void EP_CALL DestroyProvider(EpProvider*) {
  if (Witness::Instance().on_destroy) Witness::Instance().on_destroy();
}
inline EpStatus* EP_CALL GetCapability(EpProvider*, const EpGraph* graph, EpCapabilitySink* sink) {
  const Witness& witness = Witness::Instance();
  EpGraphInfo info = {};
  info.struct_size = sizeof info;
  if (EpStatus* status = witness.host->graph->GetGraphInfo(graph, &info)) return status;
  std::vector<const EpNode*> mine;
  for (uint64_t i = 0; i < info.node_count; ++i) {
    EpNodeInfo node = {};
    node.struct_size = sizeof node;
    if (EpStatus* status = witness.host->graph->GetNodeInfo(info.nodes[i], &node)) return status;
    if (witness.claims.contains(node.op_type)) mine.push_back(info.nodes[i]);
  }
  return witness.host->capability->SupportNodes(sink, mine.data(), mine.size());
}
inline EpStatus* EP_CALL Compile(EpProvider*, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
                                 EpKernel** kernels) {
  const Witness& witness = Witness::Instance();
  for (uint64_t i = 0; i < count; ++i) {
    if (witness.on_compile) {
      if (EpStatus* status = witness.on_compile(task, *partitions[i])) return status;
    }
    kernels[i] = reinterpret_cast<EpKernel*>(new int(0));
  }
  return nullptr;
}
inline void EP_CALL ReleaseKernel(EpKernel* kernel) { delete reinterpret_cast<int*>(kernel); }
inline EpStatus* EP_CALL Execute(EpKernel*, EpKernelState*, EpRun* run) {
  const Witness& witness = Witness::Instance();
  if (witness.on_execute) return witness.on_execute(run);
  return witness.host->status->Create(EP_STATUS_FAIL, "the test says nothing about running");
}

}  // namespace witness_calls

inline const EpPluginDescriptor* EP_CALL Witness::Query(const EpHostInfo* host, const EpPluginEnvironment*) {
  static const EpProviderApi kProvider = [] {
    EpProviderApi api = {};
    api.struct_size = sizeof api;
    api.CreateProvider = witness_calls::CreateProvider;
    api.DestroyProvider = witness_calls::DestroyProvider;
    api.GetCapability = witness_calls::GetCapability;
    api.Compile = witness_calls::Compile;
    api.ReleaseKernel = witness_calls::ReleaseKernel;
    api.Execute = witness_calls::Execute;
    return api;
  }();
  static const EpPluginDescriptor kDescriptor = [] {
    EpPluginDescriptor descriptor = {};
    descriptor.struct_size = sizeof descriptor;
    descriptor.abi_version = EP_ABI_VERSION;
    descriptor.name = "witness";
    descriptor.vendor = "tests";
    descriptor.version = "1.0.0";
    descriptor.Initialize = witness_calls::Initialize;
    descriptor.Shutdown = witness_calls::Shutdown;
    descriptor.GetDevices = witness_calls::GetDevices;
    descriptor.provider = &kProvider;
    return descriptor;
  }();
  Witness::Instance().host = host;
  return &kDescriptor;
}

}  // namespace epiphyte::test
