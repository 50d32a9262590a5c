#include "plugins/vulkan/ops/program_builder.h"

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/vulkan/program/memory_plan.h"

namespace epiphyte::vulkan {

ProgramBuilder::ProgramBuilder(const ir::Graph& graph, std::span<const Operator* const> operators,
                               const Capabilities& capabilities, std::span<const kit::PackedData> packed,
                               const std::function<bool(std::string_view)>& has_shader)
    : graph_(graph), operators_(operators), capabilities_(capabilities), packed_(packed), has_shader_(has_shader) {
  for (size_t i = 0; i < packed.size(); ++i)
    packed_of_node_.emplace(std::pair<int32_t, std::string_view>(packed[i].node, packed[i].key),
                            static_cast<uint32_t>(i));
}

Program ProgramBuilder::Build(std::span<const ProgramInput> inputs) {
  program_ = Program();
  values_.assign(graph_.values.size(), RecordedValue());
  made_.assign(graph_.values.size(), false);
  input_of_value_.assign(graph_.values.size(), -1);
  SetConstants();
  SetInputs(inputs);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) RunNode(static_cast<int32_t>(n));
  SetOutputs();
  return std::move(program_);
}

void ProgramBuilder::SetConstants() {
  for (const ir::Constant& constant : graph_.constants) {
    RecordedValue& known = value(constant.value);
    known.type = constant.tensor.type;
    known.dims = constant.tensor.dims;
    made_[static_cast<size_t>(constant.value)] = true;
  }
}

void ProgramBuilder::SetInputs(std::span<const ProgramInput> inputs) {
  if (inputs.size() != graph_.inputs.size())
    kit::FailArgument(inputs.size(), " inputs given, ", graph_.inputs.size(), " expected");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t input = graph_.inputs[i];
    RecordedValue& known = value(input);
    known.type = inputs[i].type;
    known.dims = inputs[i].dims;
    known.host = inputs[i].host;
    made_[static_cast<size_t>(input)] = true;
    input_of_value_[static_cast<size_t>(input)] = static_cast<int32_t>(i);
  }
}

void ProgramBuilder::RunNode(int32_t index) {
  const ir::Node& node = graph_.nodes[static_cast<size_t>(index)];
  try {
    for (const int32_t input : node.inputs)
      if (input >= 0) Made(input);
    const Operator& op = *operators_[static_cast<size_t>(index)];
    if (!RunOnHost(node, op)) {
      Recording recording(*this, graph_, index);
      op.record(recording);
    }
    for (const int32_t output : node.outputs)
      if (output >= 0) Made(output);
  } catch (const kit::Error& error) {
    throw kit::Error(error.code(), kit::TextOf("node '", node.name, "' (", node.op_type, "): ", error.what()));
  }
}

bool ProgramBuilder::RunOnHost(const ir::Node& node, const Operator& op) {
  if (op.on_host == nullptr) return false;
  std::vector<const HostTensor*> inputs;
  for (const int32_t input : node.inputs) {
    const HostTensor* host = input < 0 ? nullptr : HostOf(input);
    if (input >= 0 && host == nullptr) return false;
    inputs.push_back(host);
  }
  std::vector<HostTensor> results = op.on_host(node, inputs);
  if (results.empty()) return false;
  if (results.size() < node.outputs.size())
    kit::FailWith(EP_STATUS_FAIL, results.size(), " results were computed on the host, ", node.outputs.size(),
                  " expected");
  Recording recording(*this, graph_, static_cast<int32_t>(&node - graph_.nodes.data()));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.HasOutput(i)) recording.OutputOnHost(i, std::move(results[i]));
  return true;
}

void ProgramBuilder::SetOutputs() {
  for (const int32_t output : graph_.outputs) program_.outputs.push_back(MakeOutput(output));
}

Program::Output ProgramBuilder::MakeOutput(int32_t output) {
  RecordedValue& known = Made(output);
  Program::Output made;
  made.type = known.type;
  made.dims = known.dims;
  if (const HostTensor* host = known.tensor < 0 ? HostOf(output) : nullptr) {
    made.host_data = BytesOf(*host);
  } else {
    made.tensor = TensorOf(output);
  }
  return made;
}

RecordedValue& ProgramBuilder::Made(int32_t index) {
  if (!made_[static_cast<size_t>(index)])
    kit::FailWith(EP_STATUS_FAIL, "value '", graph_.values[static_cast<size_t>(index)].name, "' was not made");
  return value(index);
}

const HostTensor* ProgramBuilder::HostOf(int32_t index) {
  RecordedValue& known = Made(index);
  if (known.host == nullptr && known.tensor < 0) {
    const ir::Tensor* constant = ir::ElementsOf(graph_, index);
    if (constant != nullptr && constant->strings == nullptr && IsHostType(constant->type) &&
        constant->Count() <= kMostHostElements)
      known.host = std::make_shared<HostTensor>(ReadHostTensor(constant->type, constant->dims, constant->data));
  }
  return known.host.get();
}

int32_t ProgramBuilder::TensorOf(int32_t index) {
  RecordedValue& known = Made(index);
  if (known.tensor >= 0) return known.tensor;
  const auto place = static_cast<size_t>(index);
  if (input_of_value_[place] >= 0) {
    known.tensor = AddTensor(known.type, known.dims, Place::kInput, static_cast<uint64_t>(input_of_value_[place]));
  } else if (const ir::Constant* constant = graph_.FindConstant(index)) {
    if (!ir::IsThere(*constant))
      kit::FailWith(EP_STATUS_INVALID_GRAPH, "the bytes of constant '", graph_.values[place].name, "' are gone");
    if (known.host == nullptr) HostOf(index);  // read now: HostOf reads no constant that has a tensor
    known.tensor =
        AddTensor(known.type, known.dims, Place::kConstant, static_cast<uint64_t>(graph_.constant_of_value[place]));
  } else if (known.host != nullptr) {
    const std::vector<std::byte> bytes = BytesOf(*known.host);
    known.tensor = AddLiteral(known.type, known.dims, bytes.data());
  } else {
    kit::FailWith(EP_STATUS_FAIL, "value '", graph_.values[place].name, "' is nowhere");
  }
  return known.tensor;
}

int32_t ProgramBuilder::AddTensor(EpElementType type, const Dims& dims, Place place, uint64_t index) {
  const auto count = static_cast<uint64_t>(kit::CheckedCount(dims));
  DeviceTensor tensor;
  tensor.type = type;
  tensor.dims = dims;
  tensor.bytes = kit::ElementBytes(type, count);
  tensor.place = place;
  tensor.index = index;
  if (count != 0 && tensor.bytes == 0)
    kit::FailArgument("elements of type ", kit::TypeName(type), " have no place in device memory");
  if (tensor.bytes > capabilities_.max_buffer_range)
    kit::FailArgument("a tensor of shape ", kit::ShapeText(dims), " takes ", tensor.bytes,
                      " bytes, one buffer of the device holds ", capabilities_.max_buffer_range);
  if (count > INT32_MAX)
    kit::FailArgument("a tensor of shape ", kit::ShapeText(dims), " has ", count, " elements, at most ", INT32_MAX,
                      " can be counted on the device");
  program_.tensors.push_back(std::move(tensor));
  return static_cast<int32_t>(program_.tensors.size()) - 1;
}

int32_t ProgramBuilder::AddLiteral(EpElementType type, const Dims& dims, const void* data) {
  const int32_t added = AddTensor(type, dims, Place::kLiteral, 0);
  DeviceTensor& tensor = program_.tensors[static_cast<size_t>(added)];
  const size_t begin = (program_.literals.size() + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  tensor.index = begin;
  program_.literals.resize(begin + static_cast<size_t>(tensor.bytes));
  if (tensor.bytes != 0) std::memcpy(program_.literals.data() + begin, data, static_cast<size_t>(tensor.bytes));
  return added;
}

// Throws if a value differs from the type or shape that the graph declares. Claims and checks of other nodes relied on
// the declaration.
void ProgramBuilder::CheckMade(int32_t index, EpElementType type, const Dims& dims) const {
  const ir::Value& declared = graph_.values[static_cast<size_t>(index)];
  if (declared.type != EP_TYPE_UNDEFINED && declared.type != type)
    kit::FailArgument("output '", declared.name, "' is of ", kit::TypeName(type), ", the graph says ",
                      kit::TypeName(declared.type));
  if (declared.rank < 0) return;
  bool fits = static_cast<size_t>(declared.rank) == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) fits = declared.dims[i] < 0 || declared.dims[i] == dims[i];
  if (!fits)
    kit::FailArgument("output '", declared.name, "' has shape ", kit::ShapeText(dims), ", the graph says ",
                      kit::ShapeText(declared.dims));
}

}  // namespace epiphyte::vulkan
