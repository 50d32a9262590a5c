#include "graph.h"

#include <cmath>
#include <set>

namespace epiphyte::minimal {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;

void Require(bool holds, const std::string& text) {
  if (!holds) Fail(NSDK_INVALID_ARGUMENT, text);
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

int64_t Tensor::Elements() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

uint64_t Tensor::Bytes() const { return static_cast<uint64_t>(Elements()) * (type == NSDK_INT32 ? 4 : 1); }

void CheckTensor(const Tensor& tensor) {
  const std::string who = "tensor '" + tensor.name + "': ";
  const bool known = tensor.type == NSDK_INT8 || tensor.type == NSDK_UINT8 || tensor.type == NSDK_INT32;
  if (!known) Fail(NSDK_UNSUPPORTED, who + "type " + std::to_string(tensor.type) + ", expected INT8, UINT8 or INT32");
  Require(tensor.dims.size() <= 8, who + "more than 8 dimensions");
  int64_t bytes = 4;
  for (const int64_t dim : tensor.dims) {
    Require(dim >= 1, who + "a dimension is " + std::to_string(dim) + ", expected at least 1");
    if (dim > kMostBytes / bytes) Fail(NSDK_UNSUPPORTED, who + "larger than " + std::to_string(kMostBytes) + " bytes");
    bytes *= dim;
  }
  if (tensor.scales.empty()) return;
  if (tensor.scales.size() != 1) {
    Require(tensor.axis < tensor.dims.size() && tensor.scales.size() == static_cast<size_t>(tensor.dims[tensor.axis]),
            who + "the number of scales is neither 1 nor the dimension of their axis");
  }
  Require(tensor.zero_points.size() == tensor.scales.size(), who + "not as many zero points as scales");
  const Range range(tensor.type);
  for (size_t i = 0; i < tensor.scales.size(); ++i) {
    Require(std::isfinite(tensor.scales[i]) && tensor.scales[i] > 0, who + "a scale that isn't finite and positive");
    Require(tensor.zero_points[i] >= range.low && tensor.zero_points[i] <= range.high,
            who + "a zero point outside of its type");
  }
}

Tensor TakeTensor(const NsdkGraph& graph, uint32_t index) {
  Require(index < graph.tensor_count, "there is no tensor " + std::to_string(index));
  const NsdkTensor theirs = TakeElement(graph.tensors, index);
  Tensor tensor;
  tensor.name = Text(theirs.name);
  tensor.type = theirs.type;
  Require(theirs.rank <= 8, "tensor '" + tensor.name + "': more than 8 dimensions");
  tensor.dims.assign(theirs.dims, theirs.dims + theirs.rank);
  tensor.scales.assign(theirs.scales, theirs.scales + theirs.scale_count);
  tensor.zero_points.assign(theirs.scale_count, 0);
  if (theirs.zero_points != nullptr)
    tensor.zero_points.assign(theirs.zero_points, theirs.zero_points + theirs.scale_count);
  tensor.axis = theirs.axis;
  tensor.constant = theirs.data != nullptr || theirs.data_size != 0;
  tensor.data = static_cast<const uint8_t*>(theirs.data);
  CheckTensor(tensor);
  Require(!tensor.constant || theirs.data_size == tensor.Bytes(),
          "tensor '" + tensor.name + "': data of " + std::to_string(theirs.data_size) + " bytes, expected " +
              std::to_string(tensor.Bytes()));
  return tensor;
}

Op TakeOp(const NsdkGraph& graph, uint32_t index) {
  Require(index < graph.op_count, "there is no operator " + std::to_string(index));
  const NsdkOp theirs = TakeElement(graph.ops, index);
  Op op;
  op.kind = theirs.kind;
  op.name = Text(theirs.name);
  op.inputs.assign(theirs.inputs, theirs.inputs + theirs.input_count);
  op.outputs.assign(theirs.outputs, theirs.outputs + theirs.output_count);
  for (uint32_t i = 0; i < theirs.param_count; ++i) {
    const NsdkParam param = TakeElement(theirs.params, i);
    if (param.float_count != 0) Fail(NSDK_UNSUPPORTED, "operator '" + op.name + "': a parameter of floats");
    op.params[param.key].assign(param.ints, param.ints + param.int_count);
  }
  return op;
}

Graph TakeGraph(const NsdkGraph& theirs) {
  Graph graph;
  graph.name = Text(theirs.name);
  for (uint32_t i = 0; i < theirs.tensor_count; ++i) graph.tensors.push_back(TakeTensor(theirs, i));
  for (uint32_t i = 0; i < theirs.op_count; ++i) graph.ops.push_back(TakeOp(theirs, i));
  graph.inputs.assign(theirs.inputs, theirs.inputs + theirs.input_count);
  graph.outputs.assign(theirs.outputs, theirs.outputs + theirs.output_count);
  CheckGraph(graph);
  return graph;
}

void CheckGraph(const Graph& graph) {
  Require(!graph.name.empty() && graph.name.size() < 1024, "the graph's name has not 1 to 1023 bytes");
  std::vector<bool> known(graph.tensors.size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    known[i] = graph.tensors[i].constant;
    bytes += graph.tensors[i].Bytes();
    if (bytes > uint64_t{kMostBytes}) Fail(NSDK_UNSUPPORTED, "the graph's tensors are larger than 2^40 bytes");
    Require(!known[i] || graph.tensors[i].data != nullptr, "constant '" + graph.tensors[i].name + "' has no data");
  }
  std::set<std::string> names;
  const auto add_port = [&](uint32_t index) {
    const Tensor& tensor = graph.tensors[index];
    if (tensor.scales.size() > 1) Fail(NSDK_UNSUPPORTED, "'" + tensor.name + "' has several scales, expected one");
    Require(!tensor.name.empty() && names.insert(tensor.name).second, "the name '" + tensor.name + "' isn't unique");
  };
  for (const uint32_t input : graph.inputs) {
    Require(input < known.size() && !known[input], "an input is no tensor, a constant, or there twice");
    known[input] = true;
    add_port(input);
  }
  for (const Op& op : graph.ops) {
    for (const uint32_t input : op.inputs) {
      Require(input == NSDK_NONE || (input < known.size() && known[input]),
              "operator '" + op.name + "' reads what no operator before it writes");
    }
    Require(op.outputs.size() == 1, "operator '" + op.name + "' has not one output");
    const uint32_t output = op.outputs[0];
    Require(output < known.size() && !known[output], "operator '" + op.name + "' writes what is there already");
    CheckStep(MakeStep(graph, op));
    known[output] = true;
  }
  Require(!graph.outputs.empty(), "the graph has no output");
  for (const uint32_t output : graph.outputs) {
    Require(output < known.size() && known[output], "nothing writes an output of the graph");
    if (std::find(graph.inputs.begin(), graph.inputs.end(), output) == graph.inputs.end()) add_port(output);
  }
}

}  // namespace epiphyte::minimal
