// One plugin with many ways to misbehave. EPIPHYTE_MISBEHAVIOUR chooses one at compile time; with 0 it is a good plugin
// that adds one to a float tensor. It is written against the bare C headers on purpose.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "epiphyte/ep_entry.h"
#include "tests/abi/misbehaviours.h"

#ifndef EPIPHYTE_MISBEHAVIOUR
#define EPIPHYTE_MISBEHAVIOUR kWellBehaved
#endif

struct EpPlugin {
  const EpHostInfo* host;
};

namespace {

constexpr Misbehaviour kHow = EPIPHYTE_MISBEHAVIOUR;
const EpHostInfo* g_host = nullptr;

EpStatus* Refuse(const char* call) { return g_host->status->Create(EP_STATUS_EP_FAIL, call); }

// A pointer that is not a handle of the host. Following it crashes.
template <typename Handle>
Handle* Foreign() {
  static uintptr_t garbage[64];
  for (uintptr_t& word : garbage) word = static_cast<uintptr_t>(0x5151515151515151u);
  return reinterpret_cast<Handle*>(garbage);
}

// Handles kept beyond the calls for which they were valid.
EpContextWriter* g_writer = nullptr;
EpContextSink* g_context_sink = nullptr;
EpCapabilitySink* g_capability_sink = nullptr;
int g_providers = 0;       // number of providers made so far
int g_asked_provider = 0;  // number of the provider that got g_capability_sink in GetCapability; 0: none
EpTask* g_task = nullptr;
EpKernel* g_kernel = nullptr;
EpKernelState* g_state = nullptr;
EpValue* g_value = nullptr;

EpStatus* EP_CALL Initialize(const EpHostInfo* host, const EpPluginEnvironment*, EpPlugin** plugin) {
  if (kHow == kThrowsInInitialize) throw std::runtime_error("thrown in Initialize");
  if (kHow == kFailsInInitialize) return Refuse("the driver is not installed; install driver 4.2");
  *plugin = new EpPlugin{host};
  return nullptr;
}

void EP_CALL Shutdown(EpPlugin* plugin) { delete plugin; }

EpStatus* EP_CALL GetDevices(EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  static const EpDeviceInfo kDevice = {sizeof(EpDeviceInfo),
                                       EP_DEVICE_CPU,
                                       0,
                                       0,
                                       0,
                                       kHow == kReservedInDevice ? 1u : 0u,
                                       "test device",
                                       "tests",
                                       "1",
                                       "test",
                                       "",
                                       "",
                                       0};
  if (kHow == kThrowsInGetDevices) throw 42;
  *count = 1;
  if (kHow == kNoDevices) {
    *count = 0;
  } else if (kHow == kNullDevice) {
    if (capacity > 0) devices[0] = nullptr;
  } else if (capacity > 0) {
    devices[0] = &kDevice;
  }
  if (kHow == kTooManyDevices) *count = 0xFFFFFFFF;
  if (kHow == kManyDevices) {
    *count = 100;
    for (uint32_t i = 0; i < capacity && i < 100; ++i) devices[i] = &kDevice;
  }
  // A compile-only or lost device, listed before the device that is present.
  static const EpDeviceInfo kOther = {sizeof(EpDeviceInfo),
                                      EP_DEVICE_NPU,
                                      kHow == kLostDevice ? EP_DEVICE_LOST : EP_DEVICE_COMPILE_ONLY,
                                      0,
                                      0,
                                      0,
                                      "the other device",
                                      "tests",
                                      "1",
                                      "test",
                                      "",
                                      "",
                                      0};
  if (kHow == kDeviceElsewhere || kHow == kLostDevice) {
    *count = 2;
    if (capacity > 1) {
      devices[0] = &kOther;
      devices[1] = &kDevice;
    }
  }
  static const EpDeviceInfo kFuture = {
      sizeof(EpDeviceInfo), 77, 0, 0, 0, 0, "a device of the future", "tests", "1", "test", "", "", 0};
  if (kHow == kUnknownDeviceKind && capacity > 0) devices[0] = &kFuture;
  return nullptr;
}

EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  if (kHow == kThrowsInCreateProvider) throw std::bad_alloc();
  if (kHow == kFailsInCreateProvider) return Refuse("option x is wrong");
  if (kHow == kNullProvider) return nullptr;
  if (kHow == kManyDevices && config->device_count == 3) {
    const bool as_asked = config->devices[0] == 7 && config->devices[1] == 0 && config->devices[2] == 99;
    return Refuse(as_asked ? "it got 7, 0 and 99" : "it got other devices");
  }
  if (config->option_count != 0) {
    return plugin->host->status->Create(EP_STATUS_INVALID_ARGUMENT, "an option was found; none is known");
  }
  *provider = reinterpret_cast<EpProvider*>(std::malloc(1));
  ++g_providers;
  return nullptr;
}

void EP_CALL DestroyProvider(EpProvider* provider) {
  std::free(provider);
  if (kHow == kThrowsInRelease) throw std::runtime_error("thrown in DestroyProvider");
}

EpStatus* Claim(EpCapabilitySink* sink, const EpNode* const* nodes, uint64_t count, uint32_t flags, const char* name) {
  EpClaim claim = {};
  claim.struct_size = kHow == kSmallClaim ? 8 : sizeof claim;
  claim.flags = flags;
  claim.nodes = nodes;
  claim.name = name;
  claim.node_count = count;
  claim.memory_bytes = 4096;
  return g_host->capability->Claim(sink, &claim);
}

// Sets `runs` when the node is ONNX's Relu of float and is not yet claimed.
EpStatus* CanRun(const EpNodeInfo& node, bool* runs) {
  *runs = false;
  if (std::strcmp(node.op_type, "Relu") != 0 || *node.domain != '\0' || (node.flags & EP_NODE_PLACED) != 0)
    return nullptr;
  EpValueDefInfo input = {};
  input.struct_size = sizeof(input);
  if (EpStatus* status = g_host->graph->GetValueDefInfo(node.inputs[0], &input)) return status;
  *runs = input.type->kind == EP_KIND_TENSOR && input.type->element_type == EP_TYPE_FLOAT;
  return nullptr;
}

EpStatus* EP_CALL GetCapability(EpProvider*, const EpGraph* graph, EpCapabilitySink* sink) {
  if (kHow == kThrowsInGetCapability) throw std::runtime_error("thrown in GetCapability");
  if (kHow == kFailsInGetCapability) return Refuse("the compiler crashed");
  EpGraphInfo info = {};
  info.struct_size = kHow == kInfoWithoutRoom ? 8 : sizeof(info);
  if (EpStatus* status = g_host->graph->GetGraphInfo(graph, &info)) return status;
  std::vector<const EpNode*> adds;
  for (uint64_t i = 0; i < info.node_count; ++i) {
    EpNodeInfo node = {};
    node.struct_size = sizeof(node);
    if (EpStatus* status = g_host->graph->GetNodeInfo(info.nodes[i], &node)) return status;
    if (kHow == kFailsOnFunctions && std::strcmp(node.op_type, "Twice") == 0) return Refuse("functions confuse it");
    if (kHow == kClaimsFunctionInALostGroup && std::strcmp(node.op_type, "Twice") == 0) {
      // The group is the call and the Neg that reads its output. The group is lost if cpu claims that Neg first.
      EpValueDefInfo made = {};
      made.struct_size = sizeof(made);
      if (EpStatus* status = g_host->graph->GetValueDefInfo(node.outputs[0], &made)) return status;
      const EpNode* group[] = {info.nodes[i], made.consumers[0]};
      if (EpStatus* status = Claim(sink, group, 2, EP_CLAIM_TOGETHER, "call and Neg")) return status;
    }
    bool runs = false;
    if (EpStatus* status = CanRun(node, &runs)) return status;
    if (runs) adds.push_back(info.nodes[i]);
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
      // Claims the first and the last node of a chain and leaves the nodes between them to other providers.
      if (adds.size() < 2) return nullptr;
      adds = {adds.front(), adds.back()};
      return Claim(sink, adds.data(), adds.size(), EP_CLAIM_TOGETHER, "leaves and comes back");
    case kSmallClaim: return Claim(sink, adds.data(), adds.size(), 0, nullptr);
    case kClaimsExactly:
      for (const EpNode* node : adds) {
        if (EpStatus* status = Claim(sink, &node, 1, EP_CLAIM_EXACT, "exactly one")) return status;
      }
      return nullptr;
    case kClaimsConnected:
      if (EpStatus* status = g_host->capability->SetGrouping(sink, EP_GROUPING_CONNECTED)) return status;
      return g_host->capability->SupportNodes(sink, adds.data(), adds.size());
    case kStaleCapabilitySink: {
      // The host may ask the same provider again after it has inlined a function. Only another provider's call is late.
      if (g_asked_provider == 0 || g_asked_provider == g_providers) {
        g_asked_provider = g_providers;
        g_capability_sink = sink;
        return nullptr;
      }
      EpCapabilitySink* stale = g_capability_sink;
      return g_host->capability->SupportNodes(stale, adds.data(), adds.size());
    }
    case kGarbageReason:
      for (const EpNode* node : adds) {
        if (EpStatus* status = g_host->capability->DeclineNode(sink, node, "\xff\xfe\x01 no \n way")) return status;
      }
      return nullptr;
    default: return g_host->capability->SupportNodes(sink, adds.data(), adds.size());
  }
}

// Four threads report a hundred times each, or until the host answers that the user has cancelled.
EpStatus* ReportOnFourThreads(EpTask* task) {
  std::atomic<bool> cancelled = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 1; i <= 100 && !cancelled; ++i) {
        if (g_host->task->ReportProgress(task, i, 100, "one of four") != 0) cancelled = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return cancelled ? g_host->status->Create(EP_STATUS_MODEL_LOAD_CANCELED, "cancelled") : nullptr;
}

// Compiles the first partition and declines the others.
EpStatus* DeclineOthers(EpTask* task, uint64_t count, EpKernel** kernels) {
  const EpTaskApi& api = *g_host->task;
  const uint64_t first = kHow == kDeclinesAll ? 0 : 1;
  for (uint64_t i = 0; i < count; ++i) {
    if (i < first || kHow == kDeclinesAndCompiles) kernels[i] = reinterpret_cast<EpKernel*>(std::malloc(1));
    if (i < first) continue;
    if (EpStatus* status = api.DeclinePartition(task, i, "needs 9 tiles\nof 8")) return status;
    if (kHow != kDeclinesTwice) continue;
    if (EpStatus* status = api.DeclinePartition(task, i, "again")) return status;
  }
  return nullptr;
}

EpStatus* EP_CALL Compile(EpProvider*, const EpPartitionInfo* const*, uint64_t count, EpTask* task,
                          EpKernel** kernels) {
  EpTask* stale = g_task;
  g_task = task;
  if (kHow == kStaleTask && stale != nullptr) return g_host->task->DeclinePartition(stale, 0, "too late");
  if (kHow == kForeignTask) return g_host->task->DeclinePartition(Foreign<EpTask>(), 0, "whose?");
  if (kHow == kDeclinesUnknown) return g_host->task->DeclinePartition(task, count, "there is none");
  if (kHow == kDeclinesOthers || kHow == kDeclinesAll || kHow == kDeclinesTwice || kHow == kDeclinesAndCompiles) {
    return DeclineOthers(task, count, kernels);
  }
  if (kHow == kReportsOnFourThreads) {
    if (EpStatus* status = ReportOnFourThreads(task)) return status;
  }
  if (kHow == kThrowsInCompile) throw std::runtime_error("thrown in Compile");
  if (kHow == kFailsInCompile) return Refuse("out of tiles");
  if (kHow == kForeignStatus) return Foreign<EpStatus>();
  if (kHow == kReleasedStatus) {
    EpStatus* status = Refuse("released");
    g_host->status->Release(status);
    return status;
  }
  if (kHow == kSameKernelInEverySession) {
    if (g_kernel == nullptr) g_kernel = reinterpret_cast<EpKernel*>(&g_kernel);
    kernels[0] = g_kernel;
    for (uint64_t i = 1; i < count; ++i) kernels[i] = reinterpret_cast<EpKernel*>(std::malloc(1));
    return nullptr;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (kHow == kTooFewKernels && i + 1 == count) break;
    kernels[i] = kHow == kSameKernelTwice && i > 0 ? kernels[0] : reinterpret_cast<EpKernel*>(std::malloc(1));
  }
  return nullptr;
}

void EP_CALL ReleaseKernel(EpKernel* kernel) {
  if (kHow == kThrowsInReleaseState) g_host->services->Log(EP_LOG_ERROR, "misbehaving", "the kernel was released");
  if (kernel != g_kernel) std::free(kernel);
  if (kHow == kThrowsInRelease) throw std::runtime_error("thrown in ReleaseKernel");
}

EpStatus* EP_CALL CreateState(EpKernel*, EpKernelState** state) {
  if (kHow == kThrowsInCreateState) throw std::runtime_error("thrown in CreateState");
  if (kHow == kNullState) return nullptr;
  if (kHow == kSameStateTwice) {
    if (g_state == nullptr) g_state = reinterpret_cast<EpKernelState*>(&g_state);
    *state = g_state;
    return nullptr;
  }
  *state = reinterpret_cast<EpKernelState*>(std::malloc(1));
  return nullptr;
}

void EP_CALL ReleaseState(EpKernel*, EpKernelState* state) {
  if (state != g_state) std::free(state);
  if (kHow == kThrowsInReleaseState) throw std::runtime_error("thrown in ReleaseState");
}

constexpr bool kHasStates =
    kHow == kNullState || kHow == kSameStateTwice || kHow == kThrowsInReleaseState || kHow == kThrowsInCreateState;

// Sets output 0 through a value, in as many wrong ways as there are.
EpStatus* SetThroughValue(EpRun* run, const EpValueView* x) {
  const EpRunApi& api = *g_host->run;
  EpValue* value = nullptr;
  if (kHow == kForeignValue) return api.SetOutput(run, 0, Foreign<EpValue>());
  if (kHow == kForeignView) {
    EpValueView copy = *x;
    return api.ShareValue(run, &copy, &value);
  }
  if (kHow == kValueOfAnotherRun && g_value != nullptr) return api.SetOutput(run, 0, g_value);
  if (EpStatus* status = api.ShareValue(run, x, &value)) return status;
  g_value = value;
  if (kHow == kWrongOutputKind) {
    EpValue* sequence = nullptr;
    if (EpStatus* status = api.CreateSequence(run, EP_TYPE_FLOAT, &value, 1, &sequence)) return status;
    return api.SetOutput(run, 0, sequence);
  }
  if (kHow == kReleasedValue) {
    api.ReleaseValue(value);
    return api.SetOutput(run, 0, value);
  }
  if (kHow == kValueOnAnotherThread) {
    EpStatus* status = nullptr;
    std::thread([&] { status = api.SetOutput(run, 0, value); }).join();
    return status;
  }
  if (EpStatus* status = api.SetOutput(run, 0, value)) return status;
  if (kHow == kReleasesValueTwice) {
    api.ReleaseValue(value);
    api.ReleaseValue(value);
  }
  return nullptr;
}

std::atomic<int> g_executing = 0;

// Returns the run information that a kernel got, as a failure message.
EpStatus* TellOf(const EpRunInfo& info) {
  std::string text = std::string("tag '") + info.tag + "'";
  for (uint32_t i = 0; i < info.option_count; ++i) {
    text += std::string(", ") + info.options[i].key + " is " + info.options[i].value;
  }
  return g_host->status->Create(EP_STATUS_TIMEOUT, text.c_str());
}

constexpr bool kSetsThroughValue = kHow == kWrongOutputKind || kHow == kForeignValue || kHow == kReleasedValue ||
                                   kHow == kReleasesValueTwice || kHow == kNeverReleasesValue || kHow == kForeignView ||
                                   kHow == kValueOfAnotherRun || kHow == kValueOnAnotherThread;

EpStatus* EP_CALL Execute(EpKernel*, EpKernelState* state, EpRun* run) {
  if (kHasStates && state == nullptr) std::abort();
  if (kHow == kThrowsInExecute) throw "thrown in Execute";
  if (kHow == kExclusiveKernels) {
    if (++g_executing != 1) return Refuse("two are in Execute at once");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --g_executing;
  }
  if (kHow == kFailsInExecute) return g_host->status->Create(9999, "\xff the device \n hangs");
  EpRunInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = g_host->run->GetInfo(run, &info)) return status;
  if (info.struct_size != sizeof info || info.run_id == 0 || info.tag == nullptr) return Refuse("no whole info");
  if (kHow == kTellsOfItsRun) return TellOf(info);
  const EpTensorView* x = info.inputs[0]->tensor;
  if (kHow == kSetsNoOutput) return nullptr;
  if (kSetsThroughValue) return SetThroughValue(run, info.inputs[0]);
  EpElementType type = kHow == kWrongOutputType ? EP_TYPE_INT64 : x->element_type;
  void* data = nullptr;
  uint32_t index = kHow == kWrongOutputIndex ? 77 : 0;
  uint32_t rank = kHow == kHugeRank ? 1u << 30 : x->rank;
  int64_t negative = -5;
  const int64_t* dims = kHow == kNegativeDims ? &negative : x->dims;
  if (kHow == kNegativeDims) rank = 1;
  const int64_t other_dims[] = {x->dims[0] + (kHow == kWrongOutputDims ? 1 : 0), 1};
  if (kHow == kWrongOutputDims || kHow == kWrongOutputRank) dims = other_dims;
  if (kHow == kWrongOutputRank) rank = 2;
  if (EpStatus* status = g_host->run->AllocateOutput(run, index, type, dims, rank, &data)) return status;
  if (kHow == kSetsOutputTwice) return g_host->run->AllocateOutput(run, 0, type, x->dims, x->rank, &data);
  for (uint64_t i = 0; i < x->element_count && type == EP_TYPE_FLOAT; ++i) {
    float value = static_cast<const float*>(x->data)[i];
    static_cast<float*>(data)[i] = value > 0 ? value : 0;
  }
  return nullptr;
}

EpStatus* EP_CALL DescribeKernel(EpKernel*, EpKernelInfo* info) {
  if (kHow == kThrowsInDescribeKernel) throw std::runtime_error("thrown in DescribeKernel");
  if (kHow == kExclusiveKernels) info->flags = EP_KERNEL_EXCLUSIVE | 0x80000000u;
  return nullptr;
}

EpStatus* EP_CALL GetEpContextNodes(EpProvider*, EpContextSink* sink, EpTask*) {
  if (kHow == kThrowsInGetEpContextNodes) throw std::runtime_error("thrown in GetEpContextNodes");
  if (kHow == kNoContextNodes) return nullptr;
  EpContextSinkInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = g_host->context->GetSinkInfo(sink, &info)) return status;
  EpContextWriter* payload = nullptr;
  EpContextSink* stale = g_context_sink;
  g_context_sink = sink;
  if (kHow == kStaleContextSink && stale != nullptr) return g_host->context->BeginPayload(stale, &payload);
  if (kHow == kStaleWriter && g_writer != nullptr) return g_host->context->Write(g_writer, "relu", 4);
  if (kHow == kForeignWriter) return g_host->context->Write(Foreign<EpContextWriter>(), "relu", 4);
  if (EpStatus* status = g_host->context->BeginPayload(sink, &payload)) return status;
  g_writer = payload;
  if (EpStatus* status = g_host->context->Write(payload, "relu", 4)) return status;
  if (kHow != kUnfinishedPayload) {
    if (EpStatus* status = g_host->context->EndPayload(payload)) return status;
  }
  for (uint64_t i = 0; i < info.partition_count; ++i) {
    if (info.partition_names[i] == nullptr) continue;
    EpContextNodeDesc node = {};
    node.struct_size = sizeof(node);
    node.partition = kHow == kContextForUnknownPartition ? 12345 : static_cast<uint32_t>(i);
    node.main_context = i == 0 ? 1 : 0;
    node.payload = i == 0 ? payload : nullptr;
    node.source = kHow == kForeignContextSource ? "SomebodyElse" : nullptr;
    node.reserved = kHow == kReservedInContextNode ? 1 : 0;
    if (EpStatus* status = g_host->context->AddNode(sink, &node)) return status;
  }
  return nullptr;
}

EpStatus* EP_CALL LoadContext(EpProvider*, const EpContextNodeInfo* const*, uint64_t count,
                              const EpContextBlob* const* blobs, uint64_t blob_count, EpTask*, EpKernel** kernels) {
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
    kHow == kReservedInProviderTable ? 1u : 0u,
    CreateProvider,
    DestroyProvider,
    GetCapability,
    kHow == kNullCompile ? nullptr : Compile,
    GetEpContextNodes,
    kHow == kHalfOfContextPair ? nullptr : LoadContext,
    ReleaseKernel,
    kHasStates ? CreateState : nullptr,
    kHasStates ? ReleaseState : nullptr,
    kHow == kNullExecute ? nullptr : Execute,
    DescribeKernel,
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
    kHow == kLiesAboutVersion ? "1.0.1" : "1.0.0",
    kHow == kNullSources ? nullptr : kSources,
    kHow == kTooManySources ? 0xFFFFFFFFu : 1u,
    kHow == kReservedInDescriptor ? 7u : 0u,
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
extern "C" EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host,
                                                                     const EpPluginEnvironment*) {
  if (kHow == kThrowsInQuery) throw std::runtime_error("thrown in EpPluginQuery");
  if (kHow == kNullDescriptor) return nullptr;
  g_host = host;
  return &kDescriptor;
}
#endif
