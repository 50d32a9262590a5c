#include "plugins/npu/simulator/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace epiphyte::npusim {
namespace {

[[noreturn]] void Invalid(const std::string& what) { throw InvalidGraph(what); }

// Reads a struct with this header's size. Fields that the caller's struct lacks are zero.
template <typename T>
T ReadStruct(const void* from, const std::string& what) {
  uint32_t size = 0;
  if (from == nullptr) Invalid(what + " is null");
  std::memcpy(&size, from, sizeof(size));
  if (size < 8 || size > 65536) {
    Invalid(what + " has struct_size " + std::to_string(size) + ", expected sizeof, " + std::to_string(sizeof(T)));
  }
  T copy{};
  std::memcpy(&copy, from, std::min<size_t>(size, sizeof(T)));
  return copy;
}

// Element i of an array. The struct_size of the caller's first struct is the stride.
template <typename T>
T ReadElement(const T* array, uint32_t i, const std::string& what) {
  if (array == nullptr) Invalid(what + ": the array is null");
  uint32_t stride = 0, size = 0;
  std::memcpy(&stride, array, sizeof(stride));
  const auto* at = reinterpret_cast<const std::byte*>(array) + static_cast<size_t>(stride) * i;
  if (stride % 8 != 0) Invalid(what + ": struct_size " + std::to_string(stride) + " isn't a multiple of 8");
  if (stride >= 8) std::memcpy(&size, at, sizeof(size));
  if (size != stride) {
    Invalid(what + " has struct_size " + std::to_string(size) + ", the array's first has " + std::to_string(stride));
  }
  return ReadStruct<T>(at, what);
}

template <typename T>
std::vector<T> CopyArray(const T* from, uint64_t count, const std::string& what) {
  if (count > 1u << 24) Invalid(what + ": " + std::to_string(count) + " of them are too many");
  if (count == 0) return {};
  if (from == nullptr) Invalid(what + ": " + std::to_string(count) + " are said to be, the array is null");
  return {from, from + count};
}

std::string CopyText(const char* text) { return text == nullptr ? "" : std::string(text, strnlen(text, 4096)); }

std::pair<int64_t, int64_t> RangeOf(uint32_t type) {
  switch (type) {
    case NSDK_INT8: return {-128, 127};
    case NSDK_UINT8: return {0, 255};
    case NSDK_INT16: return {-32768, 32767};
    case NSDK_UINT16: return {0, 65535};
    default: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
}

Tensor CopyTensor(const NsdkGraph& graph, uint32_t index, bool with_data) {
  std::string who = "tensor " + std::to_string(index);
  const auto from = ReadElement(graph.tensors, index, who);
  Tensor tensor;
  tensor.name = CopyText(from.name);
  if (!tensor.name.empty()) who += " (\"" + tensor.name + "\")";
  tensor.type = from.type;
  const uint64_t element = ElementSize(from.type);
  if (element == 0) Invalid(who + " has type " + std::to_string(from.type) + ", which isn't one of NsdkType");
  if (from.rank > 8) Invalid(who + " has rank " + std::to_string(from.rank) + ", expected at most 8");
  tensor.dims = CopyArray(from.dims, from.rank, who + ", dims");
  uint64_t elements = 1;
  for (const int64_t dim : tensor.dims) {
    if (dim < 1) Invalid(who + " has shape " + ShapeText(tensor.dims) + ", expected dimensions of at least 1");
    if (static_cast<uint64_t>(dim) > (uint64_t{1} << 60) / elements) {
      Invalid(who + " has shape " + ShapeText(tensor.dims) + ", which is more elements than a number of 64 bits holds");
    }
    elements *= static_cast<uint64_t>(dim);
  }
  const uint64_t expected_scales =
      from.axis < tensor.dims.size() ? static_cast<uint64_t>(tensor.dims[from.axis]) : uint64_t{1};
  if (from.scale_count > 1 && from.scale_count != expected_scales) {
    Invalid(who + " has " + std::to_string(from.scale_count) + " scales, expected 0, 1 or the size of dimension " +
            std::to_string(from.axis) + " of " + ShapeText(tensor.dims));
  }
  tensor.axis = from.scale_count > 1 ? from.axis : 0;
  tensor.scales = CopyArray(from.scales, from.scale_count, who + ", scales");
  for (const float scale : tensor.scales) {
    if (!(std::isfinite(scale) && scale > 0)) {
      Invalid(who + " has a scale of " + std::to_string(scale) + ", expected finite and positive ones");
    }
  }
  if (from.zero_points == nullptr) {
    tensor.zero_points.assign(from.scale_count, 0);
  } else {
    tensor.zero_points = CopyArray(from.zero_points, from.scale_count, who + ", zero_points");
  }
  const auto [low, high] = RangeOf(from.type);
  for (const int32_t zero_point : tensor.zero_points) {
    if (zero_point < low || zero_point > high) {
      Invalid(who + " has a zero point of " + std::to_string(zero_point) + ", which isn't in the range of " +
              TypeName(from.type));
    }
  }
  tensor.constant = from.data != nullptr || from.data_size != 0;
  if (tensor.constant && from.data_size != elements * element) {
    Invalid(who + " is a constant of " + std::to_string(from.data_size) + " bytes, its shape " +
            ShapeText(tensor.dims) + " and type make " + std::to_string(elements * element));
  }
  if (from.data != nullptr) {
    tensor.data = {static_cast<const std::byte*>(from.data), from.data_size};
  } else if (tensor.constant && with_data) {
    Invalid(who + " is a constant without data");
  }
  return tensor;
}

Op CopyOneOp(const NsdkGraph& graph, uint32_t index) {
  std::string who = "operator " + std::to_string(index);
  const auto from = ReadElement(graph.ops, index, who);
  Op op;
  op.kind = from.kind;
  op.name = CopyText(from.name);
  if (op.name.empty()) op.name = KindName(op.kind) + std::string("_") + std::to_string(index);
  who += " (\"" + op.name + "\")";
  op.inputs = CopyArray(from.inputs, from.input_count, who + ", inputs");
  op.outputs = CopyArray(from.outputs, from.output_count, who + ", outputs");
  for (const uint32_t i : op.inputs) {
    if (i != NSDK_NONE && i >= graph.tensor_count) {
      Invalid(who + " reads tensor " + std::to_string(i) + " of " + std::to_string(graph.tensor_count));
    }
  }
  for (const uint32_t i : op.outputs) {
    if (i >= graph.tensor_count) {
      Invalid(who + " writes tensor " + std::to_string(i) + " of " + std::to_string(graph.tensor_count));
    }
  }
  for (uint32_t p = 0; p < from.param_count; ++p) {
    if (from.param_count > 256) Invalid(who + " has " + std::to_string(from.param_count) + " parameters");
    const auto param = ReadElement(from.params, p, who + ", parameter " + std::to_string(p));
    Param copy{CopyArray(param.ints, param.int_count, who + ", ints"),
               CopyArray(param.floats, param.float_count, who + ", floats")};
    if (!op.params.emplace(param.key, std::move(copy)).second) {
      Invalid(who + " has parameter " + std::to_string(param.key) + " twice");
    }
  }
  return op;
}

NsdkGraph ReadGraphStruct(const NsdkGraph& graph) {
  const auto copy = ReadStruct<NsdkGraph>(&graph, "the graph");
  constexpr uint32_t kMost = 1u << 22;
  if (copy.tensor_count > kMost || copy.op_count > kMost || copy.input_count > kMost || copy.output_count > kMost) {
    Invalid("the graph says that it has more than 2^22 of something");
  }
  return copy;
}

void CheckOrder(const Graph& graph) {
  std::vector<bool> written(graph.tensors.size());
  std::set<std::string> names;
  for (size_t i = 0; i < graph.tensors.size(); ++i) written[i] = graph.tensors[i].constant;
  const auto name_once = [&](uint32_t tensor, const char* what) {
    const std::string& name = graph.tensors[tensor].name;
    if (name.empty()) Invalid(std::string(what) + " is tensor " + std::to_string(tensor) + ", which has no name");
    if (!names.insert(name).second) Invalid("two inputs or outputs are named \"" + name + "\", expected unique names");
  };
  for (const uint32_t input : graph.inputs) {
    if (written[input]) Invalid("tensor " + std::to_string(input) + " is an input twice, or a constant");
    written[input] = true;
    name_once(input, "an input");
  }
  for (const Op& op : graph.ops) {
    for (const uint32_t input : op.inputs) {
      if (input != NSDK_NONE && !written[input]) {
        Invalid("\"" + op.name + "\" reads tensor " + std::to_string(input) +
                " before it is written, expected operators in an order in which they can run");
      }
    }
    for (const uint32_t output : op.outputs) {
      if (written[output]) {
        Invalid("\"" + op.name + "\" writes tensor " + std::to_string(output) +
                ", which is an input, a constant or written already");
      }
      written[output] = true;
    }
  }
  const std::set<uint32_t> inputs(graph.inputs.begin(), graph.inputs.end());
  for (const uint32_t output : graph.outputs) {
    if (!written[output]) Invalid("output tensor " + std::to_string(output) + " isn't written by anything");
    if (!inputs.contains(output)) name_once(output, "an output");
  }
}

}  // namespace

int64_t Tensor::Elements() const {
  int64_t elements = 1;
  for (const int64_t dim : dims) elements *= dim;
  return elements;
}

int64_t Op::Int(uint32_t key, int64_t otherwise) const { return Ints(key, 1, otherwise)[0]; }

std::vector<int64_t> Op::Ints(uint32_t key, size_t count, int64_t otherwise) const {
  const auto it = params.find(key);
  if (it == params.end() || (it->second.ints.empty() && count != 0)) return std::vector<int64_t>(count, otherwise);
  if (it->second.ints.size() != count) {
    throw Unsupported("parameter " + std::to_string(key) + " has " + std::to_string(it->second.ints.size()) +
                      " integers, expected " + std::to_string(count));
  }
  return it->second.ints;
}

uint64_t ElementSize(uint32_t type) {
  switch (type) {
    case NSDK_INT8:
    case NSDK_UINT8: return 1;
    case NSDK_INT16:
    case NSDK_UINT16: return 2;
    case NSDK_INT32:
    case NSDK_FLOAT32: return 4;
    default: return 0;
  }
}

const char* TypeName(uint32_t type) {
  static constexpr const char* kNames[] = {"no type", "int8", "uint8", "int16", "uint16", "int32", "float32"};
  return type < std::size(kNames) ? kNames[type] : "an unknown type";
}

const char* KindName(uint32_t kind) {
  static constexpr const char* kNames[] = {"an unknown operator",
                                           "Conv",
                                           "ConvTranspose",
                                           "MatMul",
                                           "MaxPool",
                                           "AveragePool",
                                           "Add",
                                           "Sub",
                                           "Mul",
                                           "Max",
                                           "Min",
                                           "Lookup",
                                           "Rescale",
                                           "Concat",
                                           "Slice",
                                           "Pad",
                                           "Reshape",
                                           "Transpose",
                                           "Resize",
                                           "Softmax",
                                           "LayerNorm",
                                           "ReduceMean"};
  return kind < std::size(kNames) ? kNames[kind] : kNames[0];
}

std::string ShapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

Graph CopyGraph(const NsdkGraph& original, bool with_data, const std::function<void()>& tick) {
  const NsdkGraph from = ReadGraphStruct(original);
  Graph graph;
  graph.name = CopyText(from.name);
  if (graph.name.empty() || graph.name.size() > 1023) Invalid("the graph's name hasn't 1 to 1,023 bytes");
  for (uint32_t i = 0; i < from.tensor_count; ++i) {
    if (tick && i % 1024 == 0) tick();
    graph.tensors.push_back(CopyTensor(from, i, with_data));
  }
  for (uint32_t i = 0; i < from.op_count; ++i) {
    if (tick && i % 1024 == 0) tick();
    graph.ops.push_back(CopyOneOp(from, i));
  }
  graph.inputs = CopyArray(from.inputs, from.input_count, "the graph's inputs");
  graph.outputs = CopyArray(from.outputs, from.output_count, "the graph's outputs");
  for (const auto* list : {&graph.inputs, &graph.outputs}) {
    for (const uint32_t i : *list) {
      if (i >= graph.tensors.size()) {
        Invalid("an input or output is tensor " + std::to_string(i) + " of " + std::to_string(graph.tensors.size()));
      }
    }
  }
  CheckOrder(graph);
  return graph;
}

Graph CopyOp(const NsdkGraph& original, uint32_t index) {
  const NsdkGraph from = ReadGraphStruct(original);
  if (index >= from.op_count) {
    Invalid("there is no operator " + std::to_string(index) + " of " + std::to_string(from.op_count));
  }
  Graph graph;
  graph.name = "query";
  Op op = CopyOneOp(from, index);
  std::map<uint32_t, uint32_t> renamed;
  for (auto* list : {&op.inputs, &op.outputs}) {
    for (uint32_t& tensor : *list) {
      if (tensor == NSDK_NONE) continue;
      const auto [it, added] = renamed.emplace(tensor, static_cast<uint32_t>(graph.tensors.size()));
      if (!added && list == &op.outputs) {
        Invalid("\"" + op.name + "\" writes tensor " + std::to_string(tensor) +
                ", which it reads or has written already");
      }
      if (added) {
        graph.tensors.push_back(CopyTensor(from, tensor, false));
        if (list == &op.inputs && !graph.tensors.back().constant) graph.inputs.push_back(it->second);
        if (list == &op.outputs && graph.tensors.back().constant) {
          Invalid("\"" + op.name + "\" writes tensor " + std::to_string(tensor) + ", which is a constant");
        }
        if (list == &op.outputs) graph.outputs.push_back(it->second);
      }
      tensor = it->second;
    }
  }
  graph.ops.push_back(std::move(op));
  return graph;
}

}  // namespace epiphyte::npusim
