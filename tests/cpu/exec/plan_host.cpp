#include "tests/cpu/exec/plan_host.h"

#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/cpu/exec/fuse.h"
#include "tests/framework/guarded_memory.h"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {
namespace {

struct FakeStatus {
  EpStatusCode code;
  std::string message;
};
FakeStatus* ToFake(const EpStatus* status) { return reinterpret_cast<FakeStatus*>(const_cast<EpStatus*>(status)); }
EpStatus* Create(EpStatusCode code, const char* message) {
  return reinterpret_cast<EpStatus*>(new FakeStatus{code, message});
}

const EpStatusApi kStatus = {sizeof kStatus,
                             0,
                             &Create,
                             [](const EpStatus* s) { return ToFake(s)->code; },
                             [](const EpStatus* s) { return ToFake(s)->message.c_str(); },
                             [](EpStatus* s) { delete ToFake(s); }};

size_t CountOf(const std::vector<int64_t>& dims) {
  size_t count = 1;
  for (int64_t dim : dims) count *= static_cast<size_t>(dim);
  return count;
}

std::shared_ptr<void> Guarded(const std::vector<float>& data) {
  std::shared_ptr<void> memory = GuardedMemory(data.size() * sizeof(float));
  if (!data.empty()) std::memcpy(memory.get(), data.data(), data.size() * sizeof(float));
  return memory;
}

FakeRun& ToRun(EpRun* run) { return *reinterpret_cast<FakeRun*>(run); }

EpStatus* AllocateOutput(EpRun* run, uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                         void** data) {
  FakeRun& fake = ToRun(run);
  if (index >= fake.outputs.size()) return Create(EP_STATUS_INVALID_ARGUMENT, "bad output");
  FakeRun::Output& output = fake.outputs[index];
  ++output.allocations;
  output.dims.assign(dims, dims + rank);
  const auto count = static_cast<uint64_t>(CountOf(output.dims));
  output.bytes = cpu::ElementBytes(type, count);
  if (type == EP_TYPE_FLOAT) {
    output.data.assign(count, -777.0f);
    output.memory = Guarded(output.data);
  } else {
    output.memory = GuardedMemory(output.bytes);
  }
  *data = output.memory.get();
  return nullptr;
}

struct SharedView {
  const EpValueView* view;
};
EpStatus* ShareValue(EpRun*, const EpValueView* view, EpValue** value) {
  *value = reinterpret_cast<EpValue*>(new SharedView{view});
  return nullptr;
}
EpStatus* SetOutput(EpRun* run, uint32_t index, EpValue* value) {
  const EpTensorView& tensor = *reinterpret_cast<SharedView*>(value)->view->tensor;
  void* data = nullptr;
  if (EpStatus* status = AllocateOutput(run, index, tensor.element_type, tensor.dims, tensor.rank, &data))
    return status;
  std::memcpy(data, tensor.data, tensor.byte_size);
  return nullptr;
}

const EpRunApi kRun = [] {
  EpRunApi api = {};
  api.struct_size = sizeof api;
  api.AllocateOutput = &AllocateOutput;
  api.ShareValue = &ShareValue;
  api.SetOutput = &SetOutput;
  api.ReleaseValue = [](EpValue* value) { delete reinterpret_cast<SharedView*>(value); };
  api.IsCancelled = [](const EpRun*) -> uint32_t { return 0; };
  return api;
}();

// Host services that report UINT32_MAX threads, so that work is cut for as many threads as the plan wants.
const EpServicesApi kCutServices = [] {
  EpServicesApi api = kSingleThreadServices;
  api.GetThreadCount = [](EpThreadPool*) -> uint32_t { return UINT32_MAX; };
  return api;
}();

const EpHostInfo kHost = {
    sizeof kHost, EP_ABI_VERSION, EP_ABI_VERSION,    0,       "test", "0",        &kStatus, &kSingleThreadServices,
    nullptr,      nullptr,        &kUncancelledTask, nullptr, &kRun,  NoExtension};

}  // namespace

const EpHostInfo* FakeHost() { return &kHost; }

int32_t PlanBuilder::Value(std::vector<int64_t> dims) {
  kit::ir::Value info;
  info.name = "v" + std::to_string(def_.values.size());
  info.type = EP_TYPE_FLOAT;
  info.kind = EP_KIND_TENSOR;
  info.rank = static_cast<int32_t>(dims.size());
  info.dims = std::move(dims);
  return def_.AddValue(std::move(info));
}

int32_t PlanBuilder::Input(std::vector<int64_t> dims) {
  def_.inputs.push_back(Value(std::move(dims)));
  return def_.inputs.back();
}

int32_t PlanBuilder::Constant(std::vector<int64_t> dims, std::vector<float> data) {
  std::shared_ptr<void> memory = Guarded(data);
  kit::ir::Constant constant;
  constant.value = Value(dims);
  constant.tensor.type = EP_TYPE_FLOAT;
  constant.tensor.dims.assign(dims.data(), dims.size());
  constant.tensor.data = memory.get();
  constant.owner = memory;
  def_.constant_of_value[constant.value] = static_cast<int32_t>(def_.constants.size());
  def_.constants.push_back(constant);
  return constant.value;
}

int32_t PlanBuilder::Node(std::string op_type, int64_t version, std::vector<int32_t> inputs,
                          std::vector<int64_t> output_dims, std::vector<kit::ir::Attribute> attributes) {
  kit::ir::Node node;
  node.name = op_type + std::to_string(def_.nodes.size());
  node.op_type = std::move(op_type);
  node.since_version = version;
  node.inputs = std::move(inputs);
  node.outputs = {Value(std::move(output_dims))};
  node.attributes = std::move(attributes);
  def_.nodes.push_back(node);
  return node.outputs[0];
}

PlanRunner::PlanRunner(kit::ir::Graph def, bool fused, std::vector<kit::PackedData> packed, cpu::PlanOrigin origin,
                       bool bfloat16, bool split_floats, uint32_t threads) {
  if (fused) cpu::Fuse(def, AllKernels());
  cpu::PlanConfig config;
  config.registry = &AllKernels();
  config.threads = {threads == 1 ? &kSingleThreadServices : &kCutServices, nullptr, threads};
  config.origin = origin;
  config.bfloat16 = bfloat16;
  config.split_floats = split_floats;
  plan_ = cpu::Plan::Build(std::move(def), config, std::move(packed));
}

std::vector<float> PlanRunner::Run(std::vector<std::vector<float>> inputs, std::vector<std::vector<int64_t>> dims) {
  const kit::ir::Graph& def = plan_->def();
  if (dims.empty())
    for (int32_t input : def.inputs) dims.push_back(def.values[input].dims);
  run_ = FakeRun();
  run_.tensors.resize(inputs.size());
  run_.views.resize(inputs.size());
  run_.outputs.resize(def.outputs.size());
  std::vector<std::shared_ptr<void>> memory;
  for (size_t i = 0; i < inputs.size(); ++i) {
    memory.push_back(Guarded(inputs[i]));
    EpTensorView& tensor = run_.tensors[i];
    tensor = {};
    tensor.struct_size = sizeof tensor;
    tensor.element_type = EP_TYPE_FLOAT;
    tensor.rank = static_cast<uint32_t>(dims[i].size());
    tensor.dims = dims[i].data();
    tensor.data = memory[i].get();
    tensor.element_count = inputs[i].size();
    tensor.byte_size = inputs[i].size() * sizeof(float);
    run_.views[i] = {sizeof(EpValueView), EP_KIND_TENSOR, &run_.tensors[i], nullptr, 0, 0, 0};
    run_.inputs.push_back(&run_.views[i]);
  }
  const EpRunInfo info = {sizeof info, static_cast<uint32_t>(inputs.size()), static_cast<uint32_t>(def.outputs.size()),
                          1, run_.inputs.data()};
  const kit::Run run(kHost, reinterpret_cast<EpRun*>(&run_), info);
  cpu::Frame* frame = nullptr;
  for (const auto& known : frames_)
    if (known->Matches(info)) frame = known.get();
  if (frame == nullptr) {
    frames_.push_back(std::make_unique<cpu::Frame>(*plan_, run));
    frame = frames_.back().get();
  }
  frame->Execute(run);
  for (FakeRun::Output& output : run_.outputs)
    if (!output.data.empty()) std::memcpy(output.data.data(), output.memory.get(), output.data.size() * sizeof(float));
  return run_.outputs.empty() ? std::vector<float>() : run_.outputs[0].data;
}

std::string Operators(const kit::ir::Graph& def) {
  std::string list;
  for (const kit::ir::Node& node : def.nodes) {
    if (!list.empty()) list += ' ';
    list += node.op_type;
    if (node.domain == kit::fuse::kDomain) list += '*';
  }
  return list;
}

}  // namespace epiphyte::test
