// One plugin, many ways to misbehave: EPIPHYTE_MISBEHAVIOUR chooses one at compile time, 0 is a good plugin that adds
// one to a float tensor. Deliberately written against the bare C headers.
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "epiphyte/ep_plugin.h"
#include "tests/abi/misbehaviours.h"

#ifndef EPIPHYTE_MISBEHAVIOUR
#define EPIPHYTE_MISBEHAVIOUR kWellBehaved
#endif

namespace {

constexpr Misbehaviour kHow = EPIPHYTE_MISBEHAVIOUR;
const EpHostInfo* g_host = nullptr;

EpStatus* Refuse(const char* call) { return g_host->status->Create(EP_STATUS_EP_FAIL, call); }

EpStatus* EP_CALL Initialize(const EpHostInfo*, const EpPluginEnvironment*, EpPlugin** plugin) {
  if (kHow == kThrowsInInitialize) throw std::runtime_error("thrown in Initialize");
  if (kHow == kFailsInInitialize) return Refuse("the driver is not installed; install driver 4.2");
  *plugin = reinterpret_cast<EpPlugin*>(&g_host);
  return nullptr;
}

void EP_CALL Shutdown(EpPlugin*) {}

EpStatus* EP_CALL GetDevices(EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  static const EpDeviceInfo kDevice = {sizeof(EpDeviceInfo), EP_DEVICE_CPU, "test device", "tests", "1", "test"};
  if (kHow == kThrowsInGetDevices) throw 42;
  *count = 1;
  if (kHow == kNoDevices) {
    *count = 0;
  } else if (kHow == kNullDevice) {
    devices[0] = nullptr;
  } else if (capacity > 0) {
    devices[0] = &kDevice;
  }
  if (kHow == kTooManyDevices) *count = 0xFFFFFFFF;
  return nullptr;
}

EpStatus* EP_CALL CreateProvider(EpPlugin*, const EpProviderConfig*, EpProvider** provider) {
  if (kHow == kThrowsInCreateProvider) throw std::bad_alloc();
  if (kHow == kFailsInCreateProvider) return Refuse("option x is wrong");
  if (kHow == kNullProvider) return nullptr;
  *provider = reinterpret_cast<EpProvider*>(std::malloc(1));
  return nullptr;
}

void EP_CALL DestroyProvider(EpProvider* provider) {
  std::free(provider);
  if (kHow == kThrowsInRelease) throw std::runtime_error("thrown in DestroyProvider");
}

EpStatus* EP_CALL GetCapability(EpProvider*, const EpGraph* graph, EpCapabilitySink* sink) {
  if (kHow == kThrowsInGetCapability) throw std::runtime_error("thrown in GetCapability");
  if (kHow == kFailsInGetCapability) return Refuse("the compiler crashed");
  EpGraphInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = g_host->graph->GetGraphInfo(graph, &info)) return status;
  std::vector<const EpNode*> adds;
  for (uint64_t i = 0; i < info.node_count; ++i) {
    EpNodeInfo node = {};
    node.struct_size = sizeof(node);
    if (EpStatus* status = g_host->graph->GetNodeInfo(info.nodes[i], &node)) return status;
    if (std::strcmp(node.op_type, "Relu") == 0 && (node.flags & EP_NODE_PLACED) == 0) adds.push_back(info.nodes[i]);
  }
  switch (kHow) {
    case kClaimsForeignNode: {
      const EpNode* wild = reinterpret_cast<const EpNode*>(0x1234567812345678);
      return g_host->capability->SupportNodes(sink, &wild, 1);
    }
    case kClaimsNullNode: {
      const EpNode* none = nullptr;
      return g_host->capability->SupportNodes(sink, &none, 1);
    }
    case kClaimsHugeCount: {
      EpStatus* refused = g_host->capability->SupportNodes(sink, info.nodes, UINT64_MAX);
      if (refused == nullptr) return Refuse("a claim of 2^64 nodes was accepted");
      g_host->status->Release(refused);
      return nullptr;
    }
    case kClaimsTwice:
      if (EpStatus* status = g_host->capability->SupportNodes(sink, adds.data(), adds.size())) return status;
      return g_host->capability->SupportNodes(sink, adds.data(), adds.size());
    case kClaimsNonConvexGroup:
      // First and last node of a chain whose middle it leaves to others.
      if (adds.size() < 2) return nullptr;
      adds = {adds.front(), adds.back()};
      return g_host->capability->SupportGroup(sink, adds.data(), adds.size(), "leaves and comes back");
    case kGarbageReason:
      for (const EpNode* node : adds) {
        if (EpStatus* status = g_host->capability->DeclineNode(sink, node, "\xff\xfe\x01 no \n way")) return status;
      }
      return nullptr;
    default: return g_host->capability->SupportNodes(sink, adds.data(), adds.size());
  }
}

EpStatus* EP_CALL Compile(EpProvider*, const EpPartitionInfo* const*, uint64_t count, EpProgress*, EpKernel** kernels) {
  if (kHow == kThrowsInCompile) throw std::runtime_error("thrown in Compile");
  if (kHow == kFailsInCompile) return Refuse("out of tiles");
  for (uint64_t i = 0; i < count; ++i) {
    if (kHow == kTooFewKernels && i + 1 == count) break;
    kernels[i] = kHow == kSameKernelTwice && i > 0 ? kernels[0] : reinterpret_cast<EpKernel*>(std::malloc(1));
  }
  return nullptr;
}

void EP_CALL ReleaseKernel(EpKernel* kernel) {
  std::free(kernel);
  if (kHow == kThrowsInRelease) throw std::runtime_error("thrown in ReleaseKernel");
}

EpStatus* EP_CALL Execute(EpKernel*, EpKernelState*, EpRun* run) {
  if (kHow == kThrowsInExecute) throw "thrown in Execute";
  if (kHow == kFailsInExecute) return g_host->status->Create(9999, "\xff the device \n hangs");
  EpRunInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = g_host->run->GetInfo(run, &info)) return status;
  const EpTensorView* x = info.inputs[0]->tensor;
  if (kHow == kSetsNoOutput) return nullptr;
  EpElementType type = kHow == kWrongOutputType ? EP_TYPE_INT64 : x->element_type;
  void* data = nullptr;
  uint32_t index = kHow == kWrongOutputIndex ? 77 : 0;
  uint32_t rank = kHow == kHugeRank ? 1u << 30 : x->rank;
  int64_t negative = -5;
  const int64_t* dims = kHow == kNegativeDims ? &negative : x->dims;
  if (kHow == kNegativeDims) rank = 1;
  if (EpStatus* status = g_host->run->AllocateOutput(run, index, type, dims, rank, &data)) return status;
  if (kHow == kSetsOutputTwice) return g_host->run->AllocateOutput(run, 0, type, x->dims, x->rank, &data);
  for (uint64_t i = 0; i < x->element_count && type == EP_TYPE_FLOAT; ++i) {
    float value = static_cast<const float*>(x->data)[i];
    static_cast<float*>(data)[i] = value > 0 ? value : 0;
  }
  return nullptr;
}

EpStatus* EP_CALL GetEpContextNodes(EpProvider*, EpContextSink* sink) {
  if (kHow == kThrowsInGetEpContextNodes) throw std::runtime_error("thrown in GetEpContextNodes");
  if (kHow == kNoContextNodes) return nullptr;
  EpContextSinkInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = g_host->context->GetSinkInfo(sink, &info)) return status;
  EpContextWriter* payload = nullptr;
  if (EpStatus* status = g_host->context->BeginPayload(sink, &payload)) return status;
  if (EpStatus* status = g_host->context->Write(payload, "relu", 4)) return status;
  if (kHow != kUnfinishedPayload) {
    if (EpStatus* status = g_host->context->EndPayload(payload)) return status;
  }
  for (uint64_t i = 0; i < info.partition_count; ++i) {
    EpContextNodeDesc node = {};
    node.struct_size = sizeof(node);
    node.partition = kHow == kContextForUnknownPartition ? 12345 : static_cast<uint32_t>(i);
    node.main_context = i == 0 ? 1 : 0;
    node.payload = i == 0 ? payload : nullptr;
    node.source = kHow == kForeignContextSource ? "SomebodyElse" : nullptr;
    if (EpStatus* status = g_host->context->AddNode(sink, &node)) return status;
  }
  return nullptr;
}

EpStatus* EP_CALL LoadContext(EpProvider*, const EpContextNodeInfo* const*, uint64_t count,
                              const EpContextBlob* const* blobs, uint64_t blob_count, EpProgress*, EpKernel** kernels) {
  if (kHow == kThrowsInLoadContext) throw std::runtime_error("thrown in LoadContext");
  if (blob_count != 1 || blobs[0]->size != 4 || std::memcmp(blobs[0]->data, "relu", 4) != 0)
    return Refuse("not my payload");
  for (uint64_t i = 0; i < count; ++i) {
    if (kHow == kTooFewKernels && i + 1 == count) break;
    kernels[i] = reinterpret_cast<EpKernel*>(std::malloc(1));
  }
  return nullptr;
}

const EpProviderApi kProvider = {
    kHow == kProviderTableTooSmall ? 8u : static_cast<uint32_t>(sizeof(EpProviderApi)),
    0,
    CreateProvider,
    DestroyProvider,
    GetCapability,
    kHow == kNullCompile ? nullptr : Compile,
    GetEpContextNodes,
    kHow == kHalfOfContextPair ? nullptr : LoadContext,
    ReleaseKernel,
    nullptr,
    nullptr,
    kHow == kNullExecute ? nullptr : Execute,
};

const char* const kSources[] = {kHow == kLiesAboutSources ? "EpiphyteCPU"
                                : kHow == kGarbageStrings ? "\xff\xfe"
                                                          : "MisbehavingSource"};

const EpPluginDescriptor kDescriptor = {
    kHow == kDescriptorTooSmall        ? 12u
    : kHow == kDescriptorFromTheFuture ? static_cast<uint32_t>(sizeof(EpPluginDescriptor)) + 4096u
                                       : static_cast<uint32_t>(sizeof(EpPluginDescriptor)),
    kHow == kAbiTooNew   ? EP_MAKE_ABI_VERSION(99, 0)
    : kHow == kAbiTooOld ? 0u
                         : EP_ABI_VERSION,
    kHow == kLiesAboutName    ? "cpu"
    : kHow == kNullName       ? nullptr
    : kHow == kGarbageStrings ? "\xff\x01\x02"
                              : "misbehaving",
    "tests",
    "1.0.0",
    kHow == kNullSources ? nullptr : kSources,
    kHow == kTooManySources ? 0xFFFFFFFFu : 1u,
    0,
    kHow == kNullInitialize ? nullptr : Initialize,
    Shutdown,
    GetDevices,
    nullptr,
    kHow == kNullProviderTable ? nullptr : &kProvider,
    nullptr,
};

}  // namespace

#if EPIPHYTE_HIDE_QUERY
extern "C" EP_EXPORT int SomethingElse() { return g_host == nullptr ? 0 : kDescriptor.abi_version; }
#else
extern "C" EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host) {
  if (kHow == kThrowsInQuery) throw std::runtime_error("thrown in EpPluginQuery");
  if (kHow == kNullDescriptor) return nullptr;
  g_host = host;
  return &kDescriptor;
}
#endif
