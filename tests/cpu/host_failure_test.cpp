// A host that refuses one call: the provider returns the host's code and message, and leaks neither the status nor a
// value. Each call of a whole life is refused once: capability, compiling, running, writing a context, loading it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "epiphyte/ep_entry.h"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;

// State of the host behind the tables below: call counts, the call that is refused, and the live objects.
struct HostState {
  int64_t calls = 0;
  int64_t refused = -1;  // index of the call that fails; -1: none
  int64_t statuses = 0;  // statuses that exist
  int64_t values = 0;
  std::string declined;  // last reason given to DeclineNode
  std::string payload;
  std::string partition;
};
HostState* state = nullptr;

struct Status {
  EpStatusCode code;
  std::string message;
};
Status* ToStatus(const EpStatus* status) { return reinterpret_cast<Status*>(const_cast<EpStatus*>(status)); }
EpStatus* EP_CALL MakeStatus(EpStatusCode code, const char* message) {
  ++state->statuses;
  return reinterpret_cast<EpStatus*>(new Status{code, message});
}
const EpStatusApi kStatus = {sizeof kStatus,
                             0,
                             &MakeStatus,
                             [](const EpStatus* s) { return ToStatus(s)->code; },
                             [](const EpStatus* s) { return ToStatus(s)->message.c_str(); },
                             [](EpStatus* s) {
                               if (s != nullptr) --state->statuses;
                               delete ToStatus(s);
                             }};

// Every function of the host calls this first. Returns an error if this is the call to refuse.
EpStatus* Call(const char* function) {
  const int64_t call = state->calls++;
  if (call != state->refused) return nullptr;
  return MakeStatus(EP_STATUS_ENGINE_ERROR, fmt::format("{} was call {} too many", function, call).c_str());
}
#define EPIPHYTE_CALL(function) \
  if (EpStatus* refusal = Call(function)) return refusal

// The model's graph: t = LeakyRelu(x, alpha), s = SequenceConstruct(t, c). Its outputs are t, s and x itself. No kernel
// of any plugin takes a further node, which is declined.
struct Handles {
  int64_t dims[1] = {2};
  EpTypeInfo vector = {};
  EpTypeInfo sequence = {};
  float constant_data[2] = {5, 6};
  EpTensorView constant = {};
  float alpha = 0.5f;
  char x = 0, t = 0, s = 0, c = 0, relu = 0, construct = 0, unknown = 0, attribute = 0, graph = 0;
  const EpValueDef* relu_inputs[1] = {Def(x)};
  const EpValueDef* relu_outputs[1] = {Def(t)};
  const EpValueDef* construct_inputs[2] = {Def(t), Def(c)};
  const EpValueDef* construct_outputs[1] = {Def(s)};
  const EpValueDef* graph_outputs[3] = {Def(t), Def(s), Def(x)};
  const EpAttribute* attributes[1] = {reinterpret_cast<const EpAttribute*>(&attribute)};
  const EpNode* nodes[3] = {Node(relu), Node(construct), Node(unknown)};

  static const EpValueDef* Def(const char& c) { return reinterpret_cast<const EpValueDef*>(&c); }
  static const EpNode* Node(const char& c) { return reinterpret_cast<const EpNode*>(&c); }

  Handles() {
    vector.struct_size = sizeof vector;
    vector.kind = EP_KIND_TENSOR;
    vector.element_type = EP_TYPE_FLOAT;
    vector.rank = 1;
    vector.dims = dims;
    sequence.struct_size = sizeof sequence;
    sequence.kind = EP_KIND_SEQUENCE;
    sequence.element = &vector;
    constant = {sizeof constant, EP_TYPE_FLOAT, 1, 0, dims, constant_data, nullptr, 0, 0, 0, 2, sizeof constant_data};
  }
};
const Handles& H() {
  static const Handles handles;
  return handles;
}

EpStatus* EP_CALL GetGraphInfo(const EpGraph* graph, EpGraphInfo* info) {
  EPIPHYTE_CALL("GetGraphInfo");
  const bool partition = graph != reinterpret_cast<const EpGraph*>(&H().graph);
  info->name = "graph";
  info->nodes = H().nodes;
  info->node_count = partition ? 2 : 3;
  info->inputs = H().relu_inputs;
  info->input_count = 1;
  info->outputs = H().graph_outputs;
  info->output_count = 3;
  return nullptr;
}
EpStatus* EP_CALL GetNodeInfo(const EpNode* node, EpNodeInfo* info) {
  EPIPHYTE_CALL("GetNodeInfo");
  const Handles& h = H();
  const EpNodeInfo kEmpty = {sizeof kEmpty};
  *info = kEmpty;
  info->name = "node";
  info->domain = "";
  info->since_version = 16;
  info->inputs = h.relu_inputs;
  info->input_count = 1;
  info->outputs = h.relu_outputs;
  info->output_count = 1;
  if (node == h.nodes[0]) {
    info->op_type = "LeakyRelu";
    info->attributes = h.attributes;
    info->attribute_count = 1;
  } else if (node == h.nodes[1]) {
    info->op_type = "SequenceConstruct";
    info->inputs = h.construct_inputs;
    info->input_count = 2;
    info->outputs = h.construct_outputs;
  } else if (node == h.nodes[2]) {
    info->op_type = "Frobnicate";
  } else {  // the EPContext node
    info->op_type = "EPContext";
    info->outputs = h.graph_outputs;
    info->output_count = 3;
  }
  return nullptr;
}
EpStatus* EP_CALL GetValueDefInfo(const EpValueDef* value, EpValueDefInfo* info) {
  EPIPHYTE_CALL("GetValueDefInfo");
  const Handles& h = H();
  info->flags = value == Handles::Def(h.c) ? EP_VALUE_CONSTANT : 0;
  info->name = value == Handles::Def(h.x) ? "x" : value == Handles::Def(h.t) ? "t" : "s or c";
  info->type = value == Handles::Def(h.s) ? &h.sequence : &h.vector;
  info->constant = value == Handles::Def(h.c) ? &h.constant : nullptr;
  return nullptr;
}
EpStatus* EP_CALL GetAttributeInfo(const EpAttribute*, EpAttributeInfo* info) {
  EPIPHYTE_CALL("GetAttributeInfo");
  info->type = EP_ATTRIBUTE_FLOAT;
  info->name = "alpha";
  info->count = 1;
  info->floats = &H().alpha;
  return nullptr;
}
const EpGraphApi kGraph = {sizeof kGraph, 0, &GetGraphInfo, &GetNodeInfo, &GetValueDefInfo, &GetAttributeInfo, nullptr};

const EpCapabilityApi kCapability = {sizeof kCapability,
                                     0,
                                     [](EpCapabilitySink*, const EpNode* const*, uint64_t) -> EpStatus* {
                                       EPIPHYTE_CALL("SupportNodes");
                                       return nullptr;
                                     },
                                     nullptr,
                                     nullptr,
                                     [](EpCapabilitySink*, const EpNode*, const char* reason) -> EpStatus* {
                                       EPIPHYTE_CALL("DeclineNode");
                                       state->declined = reason;
                                       return nullptr;
                                     }};

const char* const kPartitionNames[] = {"part"};
const EpContextApi kContext = {
    sizeof kContext,
    0,
    [](const EpContextSink*, EpContextSinkInfo* info) -> EpStatus* {
      EPIPHYTE_CALL("GetSinkInfo");
      *info = {sizeof *info, 0, "", kPartitionNames, 1};
      return nullptr;
    },
    [](EpContextSink*, EpContextWriter** writer) -> EpStatus* {
      EPIPHYTE_CALL("BeginPayload");
      *writer = reinterpret_cast<EpContextWriter*>(state);
      return nullptr;
    },
    [](EpContextWriter*, const void* data, uint64_t size) -> EpStatus* {
      EPIPHYTE_CALL("Write");
      state->payload.append(static_cast<const char*>(data), size);
      return nullptr;
    },
    [](EpContextWriter*) -> EpStatus* {
      EPIPHYTE_CALL("EndPayload");
      return nullptr;
    },
    [](EpContextSink*, const EpContextNodeDesc*) -> EpStatus* {
      EPIPHYTE_CALL("AddNode");
      return nullptr;
    },
    [](EpContextSink*, const char*) -> EpStatus* {
      EPIPHYTE_CALL("SetCompatibilityInfo");
      return nullptr;
    },
};

// One run with x = {-1, 2}. Its outputs are counted and then released.
struct Run {
  float data[2] = {-1, 2};
  EpTensorView tensor = {sizeof tensor, EP_TYPE_FLOAT, 1, 0, H().dims, data, nullptr, 0, 0, 0, 2, sizeof data};
  EpValueView view = {sizeof view, EP_KIND_TENSOR, &tensor, nullptr, 0, 0, 0};
  const EpValueView* inputs[1] = {&view};
  float output[2] = {};
};
struct HeldValue {
  float data[2] = {};
};
EpStatus* NewValue(EpValue** value, void** data = nullptr) {
  ++state->values;
  auto* held = new HeldValue;
  *value = reinterpret_cast<EpValue*>(held);
  if (data != nullptr) *data = held->data;
  return nullptr;
}
const EpRunApi kRun = {sizeof kRun,
                       0,
                       [](const EpRun* run, EpRunInfo* info) -> EpStatus* {
                         EPIPHYTE_CALL("GetInfo");
                         *info = {
                             sizeof *info, 1, 3, 1, reinterpret_cast<const Run*>(run)->inputs, "", nullptr, 0, 0, 1, 0};
                         return nullptr;
                       },
                       [](EpRun* run, uint32_t, EpElementType, const int64_t*, uint32_t, void** data) -> EpStatus* {
                         EPIPHYTE_CALL("AllocateOutput");
                         *data = reinterpret_cast<Run*>(run)->output;
                         return nullptr;
                       },
                       nullptr,
                       [](EpRun*, EpElementType, const int64_t*, uint32_t, EpValue** value, void** data) -> EpStatus* {
                         EPIPHYTE_CALL("CreateTensor");
                         return NewValue(value, data);
                       },
                       nullptr,
                       [](EpRun*, EpElementType, EpValue* const*, uint64_t, EpValue** value) -> EpStatus* {
                         EPIPHYTE_CALL("CreateSequence");
                         return NewValue(value);
                       },
                       nullptr,
                       nullptr,
                       [](EpRun*, const EpValueView*, EpValue** value) -> EpStatus* {
                         EPIPHYTE_CALL("ShareValue");
                         return NewValue(value);
                       },
                       [](EpRun*, uint32_t, EpValue*) -> EpStatus* {
                         EPIPHYTE_CALL("SetOutput");
                         return nullptr;
                       },
                       [](EpValue* value) {
                         --state->values;
                         delete reinterpret_cast<HeldValue*>(value);
                       },
                       [](const EpRun*) -> uint32_t { return 0; },
                       nullptr};

const EpHostInfo kHost = {
    sizeof kHost, EP_ABI_VERSION, EP_ABI_VERSION,    0,         "test", "0",        &kStatus, &kSingleThreadServices,
    &kGraph,      &kCapability,   &kUncancelledTask, &kContext, &kRun,  NoExtension};

// Returns the message of the status and releases it; "" for none. Checks that the code is the host's.
std::string Take(EpStatus* status) {
  if (status == nullptr) return "";
  EXPECT_EQ(kStatus.GetCode(status), EP_STATUS_ENGINE_ERROR);
  const std::string message = kStatus.GetMessage(status);
  kStatus.Release(status);
  return message;
}

// A provider and its kernel. The destructor releases both after success and after failure.
struct Life {
  const EpProviderApi& api;
  EpProvider* provider = nullptr;
  EpKernel* kernel = nullptr;
  EpKernelState* kernel_state = nullptr;

  std::string Create(EpPlugin* plugin) {
    EpProviderConfig config = {sizeof config};
    config.context_enabled = 1;
    return Take(api.CreateProvider(plugin, &config, &provider));
  }
  std::string Execute() {
    std::string message = Take(api.CreateState(kernel, &kernel_state));
    for (int i = 0; i < 2 && message.empty(); ++i) {  // the first run builds the memory plan, the second one uses it
      Run run;
      message = Take(api.Execute(kernel, kernel_state, reinterpret_cast<EpRun*>(&run)));
      if (message.empty()) {
        EXPECT_EQ(run.output[0], -0.5f);
      }
    }
    return message;
  }
  ~Life() {
    if (kernel_state != nullptr) api.ReleaseState(kernel, kernel_state);
    if (kernel != nullptr) api.ReleaseKernel(kernel);
    if (provider != nullptr) api.DestroyProvider(provider);
  }
};

std::string CompileAndRun(const EpProviderApi& api, EpPlugin* plugin) {
  Life life{api};
  std::string message = life.Create(plugin);
  if (message.empty())
    message = Take(api.GetCapability(life.provider, reinterpret_cast<const EpGraph*>(&H().graph), nullptr));
  const EpPartitionInfo partition = {sizeof partition, 0, "part", reinterpret_cast<const EpGraph*>(&H())};
  const EpPartitionInfo* partitions[] = {&partition};
  if (message.empty()) message = Take(api.Compile(life.provider, partitions, 1, nullptr, &life.kernel));
  if (message.empty()) message = life.Execute();
  if (message.empty()) message = Take(api.GetEpContextNodes(life.provider, nullptr, nullptr));
  return message;
}

std::string LoadAndRun(const EpProviderApi& api, EpPlugin* plugin) {
  Life life{api};
  std::string message = life.Create(plugin);
  char handle = 0;
  EpContextNodeInfo node = {sizeof node};
  node.main_context = 1;
  node.node = Handles::Node(handle);
  node.source = node.ep_sdk_version = node.hardware_architecture = node.notes = node.onnx_model_filename = "";
  node.partition_name = "part";
  const EpContextNodeInfo* nodes[] = {&node};
  std::shared_ptr<void> aligned(::operator new(state->payload.size(), std::align_val_t(64)),
                                [](void* p) { ::operator delete(p, std::align_val_t(64)); });
  std::memcpy(aligned.get(), state->payload.data(), state->payload.size());
  const EpContextBlob blob = {sizeof blob, 0, aligned.get(), state->payload.size()};
  const EpContextBlob* blobs[] = {&blob};
  if (message.empty()) message = Take(api.LoadContext(life.provider, nodes, 1, blobs, 1, nullptr, &life.kernel));
  if (message.empty()) message = life.Execute();
  return message;
}

TEST(FailingHost, IsQuotedAndLeftWithoutStatusesOrValues) {
  const EpPluginEnvironment environment = {sizeof environment, 0, "/lib.so", "/", "", "cpu", nullptr};
  const EpPluginDescriptor* descriptor = EpPluginQuery(&kHost, &environment);
  ASSERT_NE(descriptor, nullptr);
  int64_t refused = -1;
  for (bool more = true; more; ++refused) {
    HostState fresh;
    state = &fresh;
    fresh.refused = refused;
    EpPlugin* plugin = nullptr;
    ASSERT_EQ(Take(descriptor->Initialize(&kHost, &environment, &plugin)), "");
    std::string message = CompileAndRun(*descriptor->provider, plugin);
    if (message.empty()) message = LoadAndRun(*descriptor->provider, plugin);
    descriptor->Shutdown(plugin);
    if (refused < 0) {
      ASSERT_EQ(message, "");
      EXPECT_THAT(fresh.declined, HasSubstr("Frobnicate"));
    } else if (fresh.calls > refused) {
      EXPECT_THAT(message, HasSubstr(fmt::format("was call {} too many", refused)));
    } else {
      more = false;
      EXPECT_EQ(message, "");
    }
    EXPECT_EQ(fresh.statuses, 0) << "after call " << refused << ": " << message;
    EXPECT_EQ(fresh.values, 0) << "after call " << refused << ": " << message;
    state = nullptr;
  }
  EXPECT_GT(refused, 40);  // calls in a whole life
}

}  // namespace
}  // namespace epiphyte::test
