#include "sdk.h"

#include <dlfcn.h>

#include <cstring>

#include "test_graph.h"

namespace epiphyte::nsdk_conformance {

const char* NameOf(NsdkStatus status) {
  static constexpr const char* kNames[] = {
      "NSDK_OK",           "NSDK_INVALID_ARGUMENT", "NSDK_UNSUPPORTED", "NSDK_CORRUPT",
      "NSDK_INCOMPATIBLE", "NSDK_OUT_OF_MEMORY",    "NSDK_CANCELLED",   "NSDK_BUSY",
      "NSDK_NO_DEVICE",    "NSDK_DEVICE_LOST",      "NSDK_INTERNAL"};
  return status < 0 || status > NSDK_INTERNAL ? "a status that there isn't" : kNames[status];
}

NsdkReason EmptyReason() {
  NsdkReason reason = {};
  reason.struct_size = sizeof reason;
  return reason;
}

std::string FaultOf(const NsdkReason& reason) {
  const size_t length = strnlen(reason.text, sizeof reason.text);
  if (length == sizeof reason.text) return "the reason's text has no end";
  if (length == 0) return "there is no reason";
  for (size_t i = 0; i < length; ++i) {
    if (static_cast<unsigned char>(reason.text[i]) < ' ') return "the reason isn't one line of text";
  }
  return "";
}

std::string MissingFunction(const NsdkApi& api) {
  if (api.struct_size < sizeof api) return fmt::format("the table ends after {} bytes", api.struct_size);
  NsdkVersionInfo info = {};
  info.struct_size = sizeof info;
  if (api.get_version_info == nullptr) return "get_version_info is null";
  api.get_version_info(&info);
#define NSDK_HAS(bit, function) \
  if (((bit) == 0 || (info.capabilities & (bit)) != 0) && api.function == nullptr) return #function " is null";
  NSDK_HAS(0, list_devices)
  NSDK_HAS(0, context_create)
  NSDK_HAS(0, context_destroy)
  NSDK_HAS(0, get_target)
  NSDK_HAS(NSDK_CAN_COMPILE, query_op)
  NSDK_HAS(NSDK_CAN_COMPILE, compile)
  NSDK_HAS(NSDK_CAN_COMPILE, compiled_destroy)
  NSDK_HAS(NSDK_CAN_COMPILE, write_blob)
  NSDK_HAS(0, blob_info)
  NSDK_HAS(0, blob_info_release)
  NSDK_HAS(0, check_blob)
  NSDK_HAS(NSDK_CAN_GROUP, group_create)
  NSDK_HAS(NSDK_CAN_GROUP, group_destroy)
  NSDK_HAS(0, load)
  NSDK_HAS(0, unload)
  NSDK_HAS(NSDK_CAN_BIND_MEMORY, mem_create)
  NSDK_HAS(NSDK_CAN_BIND_MEMORY, mem_destroy)
  NSDK_HAS(0, exec_create)
  NSDK_HAS(0, exec_bind)
  NSDK_HAS(0, exec_destroy)
  NSDK_HAS(0, run)
  NSDK_HAS(NSDK_CAN_RUN_ASYNC, run_async)
  NSDK_HAS(NSDK_CAN_RUN_ASYNC, wait)
  NSDK_HAS(NSDK_CAN_COUNT, get_counters)
#undef NSDK_HAS
  return "";
}

Sdk::Sdk(Target target) : target_(std::move(target)) {}

void* Sdk::library() {
  if (library_ == nullptr) {
    library_ = dlopen(target_.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw NotReached{fmt::format("the library can't be loaded: {}", dlerror())};
  }
  return library_;
}

NsdkGetApi Sdk::get_api() {
  const auto get = reinterpret_cast<NsdkGetApi>(dlsym(library(), "nsdk_get_api"));
  Need(get != nullptr, "the library has no nsdk_get_api");
  return get;
}

const NsdkApi& Sdk::api() {
  if (!api_) {
    NsdkApi api = {};
    api.struct_size = sizeof api;
    const NsdkStatus status = get_api()(NSDK_VERSION, &api);
    Need(status == NSDK_OK, "nsdk_get_api returned {}", NameOf(status));
    const std::string missing = MissingFunction(api);
    Need(missing.empty(), "{}", missing);
    api_ = api;
  }
  return *api_;
}

uint64_t Sdk::capabilities() {
  NsdkVersionInfo info = {};
  info.struct_size = sizeof info;
  const NsdkStatus status = api().get_version_info(&info);
  Need(status == NSDK_OK, "get_version_info returned {}", NameOf(status));
  return info.capabilities;
}

void Sdk::Require(uint64_t capability, const char* what) {
  if (!Has(capability)) throw NotApplicable{fmt::format("the SDK doesn't announce {}", what)};
}

std::vector<NsdkDevice> Sdk::Devices() {
  uint32_t count = 0;
  Need(api().list_devices(&count, nullptr) == NSDK_OK && count < 4096, "list_devices fails");
  std::vector<NsdkDevice> devices(count);
  for (NsdkDevice& device : devices) device.struct_size = sizeof device;
  Need(count == 0 || api().list_devices(&count, devices.data()) == NSDK_OK, "list_devices fails");
  return devices;
}

uint32_t Sdk::FirstDevice() {
  const std::vector<NsdkDevice> devices = Devices();
  if (devices.empty()) throw NotApplicable{"there is no device here"};
  return devices[0].id;
}

NsdkStatus Sdk::CreateContext(const std::vector<KeyValue>& options, uint32_t device, NsdkContext** context,
                              NsdkReason* reason) {
  std::vector<NsdkOption> views;
  for (const auto& [key, value] : options) views.push_back({sizeof(NsdkOption), 0, key.c_str(), value.c_str()});
  NsdkContextOptions view = {};
  view.struct_size = sizeof view;
  view.device = device;
  view.option_count = static_cast<uint32_t>(views.size());
  view.options = views.data();
  return api().context_create(&view, context, reason);
}

Context Sdk::MakeContext(const std::vector<KeyValue>& options, uint32_t device) {
  NsdkContext* context = nullptr;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = CreateContext(options, device, &context, &reason);
  Need(status == NSDK_OK && context != nullptr, "context_create returned {}: {}", NameOf(status), reason.text);
  return {context, api().context_destroy};
}

NsdkTarget Sdk::TargetOf(NsdkContext* context) {
  NsdkTarget target = {};
  target.struct_size = sizeof target;
  const NsdkStatus status = api().get_target(context, &target);
  Need(status == NSDK_OK && target.architecture != nullptr, "get_target returned {}", NameOf(status));
  return target;
}

bool Sdk::Accepts(NsdkContext* context, const TestGraph& graph, std::string* why) {
  const NsdkView view(graph);
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    NsdkReason reason = EmptyReason();
    const NsdkStatus status = api().query_op(context, view.get(), i, &reason);
    if (why != nullptr) *why = reason.text;
    if (status != NSDK_OK) return false;
  }
  return true;
}

Compiled Sdk::Compile(NsdkContext* context, const TestGraph& graph) {
  const NsdkView view(graph);
  NsdkCompiled* compiled = nullptr;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api().compile(context, view.get(), nullptr, &compiled, &reason);
  Need(status == NSDK_OK && compiled != nullptr, "compile returned {}: {}", NameOf(status), reason.text);
  return {compiled, api().compiled_destroy};
}

Bytes Sdk::WriteBlob(NsdkContext* context, const std::vector<const Compiled*>& compiled) {
  std::vector<NsdkCompiled*> pointers;
  for (const Compiled* one : compiled) pointers.push_back(one->get());
  Bytes blob;
  NsdkSink sink = {};
  sink.struct_size = sizeof sink;
  sink.user = &blob;
  sink.write = [](void* user, const void* data, uint64_t size, uint64_t) {
    Bytes& bytes = *static_cast<Bytes*>(user);
    bytes.insert(bytes.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size);
    return 0;
  };
  NsdkReason reason = EmptyReason();
  const NsdkStatus status =
      api().write_blob(context, pointers.data(), static_cast<uint32_t>(pointers.size()), &sink, &reason);
  Need(status == NSDK_OK && !blob.empty(), "write_blob returned {}: {}", NameOf(status), reason.text);
  return blob;
}

Bytes Sdk::BlobOf(NsdkContext* context, const TestGraph& graph) {
  const Compiled compiled = Compile(context, graph);
  return WriteBlob(context, {&compiled});
}

Info Sdk::InfoOf(const void* blob, uint64_t size) {
  const NsdkBlobInfo* info = nullptr;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api().blob_info(blob, size, &info, &reason);
  Need(status == NSDK_OK && info != nullptr, "blob_info returned {}: {}", NameOf(status), reason.text);
  return {info, api().blob_info_release};
}

Program Sdk::Load(NsdkContext* context, const void* blob, uint64_t size, uint32_t flags, NsdkGroup* scratch,
                  NsdkGroup* weights) {
  NsdkLoadOptions options = {};
  options.struct_size = sizeof options;
  options.flags = flags;
  options.scratch = scratch;
  options.weights = weights;
  NsdkProgram* program = nullptr;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api().load(context, blob, size, &options, &program, &reason);
  Need(status == NSDK_OK && program != nullptr, "load returned {}: {}", NameOf(status), reason.text);
  return {program, api().unload};
}

Program Sdk::Load(NsdkContext* context, const Bytes& blob) {
  const Bytes* kept;
  {
    const std::lock_guard lock(mutex_);
    kept = &kept_.emplace_back(blob);
  }
  return Load(context, kept->data(), kept->size());
}

Group Sdk::MakeGroup(NsdkContext* context, uint32_t kind) {
  NsdkGroup* group = nullptr;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api().group_create(context, kind, &group, &reason);
  Need(status == NSDK_OK && group != nullptr, "group_create returned {}: {}", NameOf(status), reason.text);
  return {group, api().group_destroy};
}

Execution Sdk::MakeExecution(NsdkProgram* program, uint32_t graph) {
  NsdkExecution* execution = nullptr;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api().exec_create(program, graph, &execution, &reason);
  Need(status == NSDK_OK && execution != nullptr, "exec_create returned {}: {}", NameOf(status), reason.text);
  return {execution, api().exec_destroy};
}

void Sdk::Bind(NsdkExecution* execution, uint32_t direction, uint32_t index, const void* address, uint64_t size) {
  NsdkBinding binding = {};
  binding.struct_size = sizeof binding;
  binding.host_address = const_cast<void*>(address);
  binding.size = size;
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api().exec_bind(execution, direction, index, &binding, &reason);
  Need(status == NSDK_OK, "exec_bind returned {}: {}", NameOf(status), reason.text);
}

void Sdk::Run(NsdkExecution* execution) {
  NsdkReason reason = EmptyReason();
  const NsdkStatus status = api().run(execution, nullptr, &reason);
  Need(status == NSDK_OK, "run returned {}: {}", NameOf(status), reason.text);
}

std::vector<Bytes> Sdk::RunOnce(NsdkProgram* program, uint32_t index, const TestGraph& graph,
                                const std::vector<Bytes>& inputs) {
  const Execution execution = MakeExecution(program, index);
  std::vector<Bytes> outputs;
  for (const uint32_t output : graph.outputs) outputs.emplace_back(graph.tensors[output].Size());
  for (uint32_t i = 0; i < inputs.size(); ++i) Bind(execution.get(), NSDK_INPUT, i, inputs[i].data(), inputs[i].size());
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Bind(execution.get(), NSDK_OUTPUT, i, outputs[i].data(), outputs[i].size());
  }
  Run(execution.get());
  return outputs;
}

namespace {

// A chain of GEMMs with constant weights: x is [rows, k], and the weights of a layer are [k, n].
TestGraph Product(const std::string& name, int64_t rows, int64_t k, int64_t n, int layers, uint32_t seed) {
  std::mt19937 random(seed);
  TestGraph graph(name);
  uint32_t from = graph.AddInput({.name = "x", .dims = {rows, k}, .scales = {0.05f}, .zero_points = {3}});
  for (int layer = 0; layer < layers; ++layer) {
    const std::string number = std::to_string(layer);
    const int64_t width = layer == 0 ? k : n;
    TestTensor weights{.name = "w" + number, .dims = {width, n}, .scales = {0.01f}};
    weights.data = RandomBytes(weights, random);
    const uint32_t w = graph.AddTensor(std::move(weights));
    const uint32_t y = graph.AddTensor(
        {.name = layer + 1 == layers ? "y" : "t" + number, .dims = {rows, n}, .scales = {0.25f}, .zero_points = {-4}});
    graph.AddOp({.kind = NSDK_MATMUL, .name = "matmul" + number, .inputs = {from, w}, .outputs = {y}});
    from = y;
  }
  graph.outputs = {from};
  return graph;
}

// A chain of 3x3 convolutions that keep the size of the image.
TestGraph Convolutions(const std::string& name, int64_t side, int64_t channels, int layers, uint32_t seed) {
  std::mt19937 random(seed);
  TestGraph graph(name);
  uint32_t from =
      graph.AddInput({.name = "x", .dims = {1, channels, side, side}, .scales = {0.05f}, .zero_points = {3}});
  for (int layer = 0; layer < layers; ++layer) {
    const std::string number = std::to_string(layer);
    TestTensor weights{.name = "w" + number, .dims = {channels, channels, 3, 3}, .scales = {0.01f}};
    weights.data = RandomBytes(weights, random);
    const uint32_t w = graph.AddTensor(std::move(weights));
    const uint32_t y = graph.AddTensor({.name = layer + 1 == layers ? "y" : "t" + number,
                                        .dims = {1, channels, side, side},
                                        .scales = {0.25f},
                                        .zero_points = {-4}});
    graph.AddOp({.kind = NSDK_CONV,
                 .name = "conv" + number,
                 .inputs = {from, w},
                 .outputs = {y},
                 .ints = {{NSDK_PADS, {1, 1, 1, 1}}}});
    from = y;
  }
  graph.outputs = {from};
  return graph;
}

}  // namespace

TestGraph Sdk::SmallGraph(NsdkContext* context, const std::string& name, uint32_t variant) {
  std::string why;
  for (TestGraph graph : {Product(name, 2, 24, 40, 1, variant), Convolutions(name, 5, 3, 1, variant)}) {
    if (Accepts(context, graph, &why)) return graph;
  }
  throw NotApplicable{"the SDK takes neither a small product of matrices nor a small convolution: " + why};
}

TestGraph Sdk::LargeGraph(NsdkContext* context) {
  for (TestGraph graph : {Convolutions("large", 28, 64, 4, 7), Product("large", 64, 512, 512, 4, 7)}) {
    if (Accepts(context, graph)) return graph;
  }
  throw NotApplicable{"the SDK takes neither convolutions nor products of matrices"};
}

}  // namespace epiphyte::nsdk_conformance
