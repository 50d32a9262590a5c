#include "tests/vulkan/ops/math/op_run.h"

#include <algorithm>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/vulkan/ops/program_builder.h"
#include "plugins/vulkan/program/memory_plan.h"
#include "tests/vulkan/host_program.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::vulkan {
namespace {

const OperatorTable& Operators() {
  static const OperatorTable* const table = [] {
    auto* made = new OperatorTable;
    RegisterAllOperators(*made);
    return made;
  }();
  return *table;
}

// All tests of the program share one device, because opening it takes longest.
std::shared_ptr<Device> SharedDevice(std::string* why_not) {
  static std::shared_ptr<Device>* const device = new std::shared_ptr<Device>;
  if (*device != nullptr) return *device;
  if (!PinLavapipe()) {
    *why_not = kNoLavapipe;
    return nullptr;
  }
  const OpenedInstance opened = OpenInstance({.validation = ValidationOfEnvironment()});
  if (opened.instance == nullptr || opened.instance->devices().empty()) {
    *why_not = opened.why_not;
    return nullptr;
  }
  *device = Device::Open(opened.instance, ChooseDevice(opened.instance->devices(), {.device = TestDevice()}),
                         {.kernels = &BuiltInKernels()});
  return *device;
}

// Initial capabilities of the tests on any device, like those of a software device. Subgroups, shared memory and
// cooperative matrices count as slow, and a large number of workgroups is arranged in rows.
Capabilities LikeASoftwareDevice(Capabilities can) {
  for (const Capability emulated : {Capability::kSubgroup, Capability::kSharedMemory, Capability::kCoopMatrix}) {
    bool& has = can.has[static_cast<size_t>(emulated)];
    can.slow[static_cast<size_t>(emulated)] |= has;
    has = false;
  }
  can.has[static_cast<size_t>(Capability::kDotProduct)] = false;
  for (uint32_t& count : can.max_workgroup_count) count = std::min(count, 65535u);
  return can;
}

struct PackedSink final : Packing::Sink {
  void Put(std::string key, std::vector<std::byte> data) override {
    auto owner = std::make_shared<std::vector<std::byte>>(std::move(data));
    packed.push_back({node, std::move(key), "", owner->data(), owner->size(), owner});
  }
  void Release(int32_t) override {}
  int32_t node = 0;
  std::vector<kit::PackedData> packed;
};

// A program with its buffers on the device, ready to run.
class Loaded {
 public:
  Loaded(const std::shared_ptr<Device>& device, const ir::Graph& graph, std::span<const kit::PackedData> packed,
         const Program& program, const Tensors& inputs)
      : program_(program), plan_(PlanMemory(program)) {
    arena_ = device->Allocate(plan_.arena_bytes, "activations");
    for (const OpTensor& input : inputs)
      inputs_.push_back({device->Allocate(input.bytes.size(), "input"), 0, input.bytes.size()});
    for (size_t i = 0; i < graph.constants.size() + packed.size(); ++i) {
      const bool is_packed = i >= graph.constants.size();
      const void* data = is_packed ? packed[i - graph.constants.size()].data : graph.constants[i].tensor.data;
      const uint64_t bytes = is_packed ? packed[i - graph.constants.size()].bytes : graph.constants[i].tensor.Bytes();
      constants_.push_back(Put(*device, data, bytes));
    }
    literals_ = Put(*device, program.literals.data(), program.literals.size());
    HostList list;
    for (const Dispatch& dispatch : program.dispatches) {
      Command command{dispatch.shader, dispatch.specialization, dispatch.parameters, {}, dispatch.groups,
                      dispatch.work, false, dispatch.full_subgroups};
      for (const Binding& binding : dispatch.bindings)
        command.bindings.push_back({RangeOf(binding.tensor), binding.access});
      list.commands.push_back(std::move(command));
    }
    list.inputs = inputs_;
    for (const Program::Output& output : program.outputs)
      if (output.tensor >= 0) list.outputs.push_back(RangeOf(output.tensor));
    compiled_ = std::make_unique<HostProgram>(device, list);
  }

  Tensors Run(const Tensors& inputs) {
    Tensors results;
    std::vector<const void*> sources;
    for (const OpTensor& input : inputs) sources.push_back(input.bytes.data());
    for (const Program::Output& output : program_.outputs) {
      OpTensor& result = results.emplace_back(OpTensor{output.type, output.dims, output.host_data});
      if (output.tensor >= 0)
        result.bytes.assign(program_.tensors[static_cast<size_t>(output.tensor)].bytes, std::byte{0xCD});
    }
    std::vector<void*> targets;
    for (size_t i = 0; i < results.size(); ++i)
      if (program_.outputs[i].tensor >= 0) targets.push_back(results[i].bytes.data());
    compiled_->Run(sources, targets);
    return results;
  }

 private:
  static BufferRange Put(Device& device, const void* data, uint64_t bytes) {
    const BufferRange range{device.Allocate(bytes, "data"), 0, bytes};
    const HostToDevice copy{range, data};
    if (bytes != 0) device.Upload({&copy, 1});
    return range;
  }
  BufferRange RangeOf(int32_t index) const {
    const DeviceTensor& tensor = program_.tensors[static_cast<size_t>(index)];
    switch (tensor.place) {
      case Place::kArena: return {arena_, plan_.offsets[static_cast<size_t>(index)], tensor.bytes};
      case Place::kInput: return inputs_[tensor.index];
      case Place::kConstant: return constants_[tensor.index];
      case Place::kLiteral: return {literals_.buffer, tensor.index, tensor.bytes};
      case Place::kOutput: break;  // programs have outputs of their own only after BindOutputs
    }
    return {};
  }

  const Program& program_;
  const MemoryPlan plan_;
  std::shared_ptr<Buffer> arena_;
  std::vector<BufferRange> inputs_;
  std::vector<BufferRange> constants_;
  BufferRange literals_;
  std::unique_ptr<HostProgram> compiled_;
};

}  // namespace

OpTensor Bools(const Dims& dims, const std::vector<uint8_t>& values) {
  OpTensor tensor = Of<uint8_t>(dims, values);
  tensor.type = EP_TYPE_BOOL;
  return tensor;
}

OpTensor Halves(const Dims& dims, const std::vector<float>& values) {
  OpTensor tensor{EP_TYPE_FLOAT16, dims, {}};
  for (const float value : values) {
    const kit::Float16 half(value);
    const auto* bytes = reinterpret_cast<const std::byte*>(&half.bits);
    tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof(half.bits));
  }
  return tensor;
}

std::vector<float> FromHalves(const OpTensor& tensor) {
  std::vector<float> values;
  for (const uint16_t bits : tensor.As<uint16_t>()) {
    kit::Float16 half;
    half.bits = bits;
    values.push_back(static_cast<float>(half));
  }
  return values;
}

OpTensor OnHost(OpTensor tensor) {
  tensor.on_host = true;
  return tensor;
}

void OpTest::SetUp() {
  std::string why_not;
  device_ = SharedDevice(&why_not);
  if (device_ == nullptr) GTEST_SKIP() << why_not;
  PreferNothing();
}

void OpTest::PreferNothing() { capabilities_ = LikeASoftwareDevice(device_->info().capabilities); }

Tensors OpTest::Run(std::string_view text, const Tensors& inputs) {
  const ir::Graph graph = ir::FromText(std::string("graph \"test\"\n").append(text));
  std::vector<bool> on_host(graph.values.size(), false);
  for (const ir::Constant& constant : graph.constants) on_host[static_cast<size_t>(constant.value)] = true;
  std::vector<ProgramInput> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ProgramInput& input = known.emplace_back(ProgramInput{inputs[i].type, inputs[i].dims, nullptr});
    if (!inputs[i].on_host) continue;
    input.host = std::make_shared<HostTensor>(ReadHostTensor(input.type, input.dims, inputs[i].bytes.data()));
    on_host[static_cast<size_t>(graph.inputs[i])] = true;
  }
  std::vector<const Operator*> operators;
  PackedSink sink;
  for (const ir::Node& node : graph.nodes) {
    std::string why;
    const Operator* op = Operators().Choose(graph, node, capabilities_, on_host, &why);
    if (op == nullptr) kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, why);
    operators.push_back(op);
    const bool of_known = std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](int32_t value) { return value < 0 || on_host[static_cast<size_t>(value)]; });
    if (op->of_shapes || (op->on_host != nullptr && of_known))
      for (const int32_t output : node.outputs)
        if (output >= 0) on_host[static_cast<size_t>(output)] = true;
    sink.node = static_cast<int32_t>(&node - graph.nodes.data());
    Packing packing(graph, node, capabilities_, sink);
    if (op->pack != nullptr) op->pack(packing);
  }
  const std::function<bool(std::string_view)> has_shader = [](std::string_view name) {
    return BuiltInKernels().Find(name) != nullptr;
  };
  program_ = ProgramBuilder(graph, operators, capabilities_, sink.packed, has_shader).Build(known);
  if (change) change(program_);
  Loaded loaded(device_, graph, sink.packed, program_, inputs);
  Tensors first = loaded.Run(inputs);
  const Tensors second = loaded.Run(inputs);
  device_->instance().ThrowIfInvalid();
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(first[i].bytes, second[i].bytes) << "output " << i << " of the second run";
  return first;
}

std::string ReasonOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const kit::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace epiphyte::vulkan
