#include "epiphyte/kit/graph/import.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/memory/heap.hpp"

namespace epiphyte::kit::ir {
namespace {

[[noreturn]] void Refuse(const std::string& message) { throw Error(EP_STATUS_INVALID_GRAPH, message); }

std::string Text(const char* text) { return text == nullptr ? std::string() : std::string(text); }

// A list from the host. Indices of values and nodes are int32_t, so its size is limited.
template <typename T>
std::span<const T> List(const T* items, uint64_t count, const char* what) {
  if (count > INT32_MAX) Refuse(std::to_string(count) + " " + what + " found; no more than 2147483647 expected");
  if (items == nullptr && count != 0) Refuse(std::to_string(count) + " " + what + " announced, but none are there");
  return {items, static_cast<size_t>(count)};
}

bool IsConstant(const EpValueDefInfo& info) {
  return (info.flags & EP_VALUE_CONSTANT) != 0 && info.constant != nullptr;
}

bool CanBeRank(int64_t rank) { return rank >= 0 && rank <= EP_MAX_RANK; }

// Checks a view from the host for consistency and returns it as a tensor. For an element type that this kit does not
// know, the tensor has a shape only; plugins decline nodes with such tensors.
Tensor ImportTensor(const EpTensorView& view, const std::string& whose) {
  uint64_t count = 0;
  if (!CanBeRank(view.rank)) Refuse(whose + " has rank " + std::to_string(view.rank) + "; 64 at most expected");
  const std::span<const int64_t> dims = List(view.dims, view.rank, "dimensions");
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; }) || !CountElements(dims, &count))
    Refuse(whose + " has the dimensions " + ShapeText(dims) + ", which make no sense");
  if (view.buffer != nullptr) Refuse(whose + " is in a device's memory; constants are the host's");
  Tensor tensor;
  tensor.dims.assign(dims.data(), dims.size());
  tensor.type = view.element_type;
  if (!IsElementType(view.element_type)) return tensor;
  const bool is_text = view.element_type == EP_TYPE_STRING;
  const uint64_t bytes = is_text ? count * sizeof(EpString) : ElementBytes(view.element_type, count);
  if (view.element_count != count || view.byte_size != bytes)
    Refuse(whose + " has " + std::to_string(view.element_count) + " elements in " + std::to_string(view.byte_size) +
           " bytes; " + std::to_string(count) + " in " + std::to_string(bytes) + " expected");
  if (view.data == nullptr && bytes != 0) Refuse(whose + " has no data");
  if (!is_text) {
    tensor.data = view.data;
    return tensor;
  }
  auto strings = std::make_shared<std::vector<std::string>>();
  strings->reserve(static_cast<size_t>(count));
  for (const EpString& text : List(static_cast<const EpString*>(view.data), count, "strings")) {
    if (text.data == nullptr && text.size != 0) Refuse(whose + " has a string without data");
    strings->emplace_back(text.size == 0 ? "" : text.data, static_cast<size_t>(text.size));
  }
  tensor.strings = std::move(strings);
  return tensor;
}

// A copy of the tensor with its own bytes.
Tensor Copied(Tensor tensor, std::vector<std::shared_ptr<void>>* owners) {
  const auto bytes = static_cast<size_t>(tensor.Bytes());
  if (tensor.data == nullptr || bytes == 0) return tensor;
  std::shared_ptr<void> copy = AllocateWeights(bytes);
  std::memcpy(copy.get(), tensor.data, bytes);
  tensor.data = copy.get();
  owners->push_back(std::move(copy));
  return tensor;
}

bool IsSingle(EpAttributeType type) {
  return type == EP_ATTRIBUTE_FLOAT || type == EP_ATTRIBUTE_INT || type == EP_ATTRIBUTE_STRING ||
         type == EP_ATTRIBUTE_TENSOR;
}

Attribute ImportAttribute(const EpHostInfo& host, const EpAttribute* handle) {
  EpAttributeInfo info = {};
  info.struct_size = sizeof info;
  ThrowIfFailed(host, host.graph->GetAttributeInfo(handle, &info), "an attribute can't be described");
  Attribute attribute;
  attribute.name = Text(info.name);
  attribute.type = info.type;
  const std::string whose = "attribute '" + attribute.name + "'";
  if (IsSingle(info.type) && info.count != 1)
    Refuse(whose + " holds " + std::to_string(info.count) + " of what it can hold one of");
  switch (info.type) {
    case EP_ATTRIBUTE_FLOAT:
    case EP_ATTRIBUTE_FLOATS: {
      const std::span<const float> floats = List(info.floats, info.count, "floats of an attribute");
      attribute.floats.assign(floats.begin(), floats.end());
      break;
    }
    case EP_ATTRIBUTE_INT:
    case EP_ATTRIBUTE_INTS: {
      const std::span<const int64_t> ints = List(info.ints, info.count, "integers of an attribute");
      attribute.ints.assign(ints.begin(), ints.end());
      break;
    }
    case EP_ATTRIBUTE_STRING:
    case EP_ATTRIBUTE_STRINGS:
      for (const EpString& text : List(info.strings, info.count, "strings of an attribute")) {
        if (text.data == nullptr && text.size != 0) Refuse(whose + " has a string without data");
        attribute.strings.emplace_back(text.size == 0 ? "" : text.data, static_cast<size_t>(text.size));
      }
      break;
    case EP_ATTRIBUTE_TENSOR:
    case EP_ATTRIBUTE_TENSORS:
    case EP_ATTRIBUTE_SPARSE_TENSOR:
    case EP_ATTRIBUTE_SPARSE_TENSORS: {
      const bool sparse = info.type == EP_ATTRIBUTE_SPARSE_TENSOR || info.type == EP_ATTRIBUTE_SPARSE_TENSORS;
      const uint64_t most = uint64_t{1} << 31;
      const uint64_t count = info.count < most && sparse ? info.count * 2 : info.count;
      for (const EpTensorView* view : List(info.tensors, count, "tensors of an attribute")) {
        if (view == nullptr) Refuse(whose + " holds a tensor that is not there");
        attribute.tensors.push_back(Copied(ImportTensor(*view, whose), &attribute.tensor_data));
      }
      break;
    }
    default: break;  // graphs and types are read through the node's handle
  }
  return attribute;
}

class Importer {
 public:
  Importer(const EpHostInfo& host, Graph& graph, size_t values) : host_(host), graph_(graph) {
    numbers_.reserve(values);
  }

  // Index of a value; -1 for one that is left out.
  int32_t ValueOf(const EpValueDef* handle) {
    if (handle == nullptr) return -1;
    const auto [known, is_new] = numbers_.try_emplace(handle, static_cast<int32_t>(graph_.values.size()));
    if (!is_new) return known->second;
    EpValueDefInfo info = {};
    info.struct_size = sizeof info;
    ThrowIfFailed(host_, host_.graph->GetValueDefInfo(handle, &info), "a value can't be described");
    const int32_t number = graph_.AddValue(ImportValue(info));
    if (!IsConstant(info)) return number;
    Constant constant;
    constant.value = number;
    constant.tensor = ImportTensor(*info.constant, "constant '" + Text(info.name) + "'");
    if (!IsElementType(constant.tensor.type)) constant.storage = Constant::Storage::kDropped;
    constant.handle = handle;
    graph_.constant_of_value.back() = static_cast<int32_t>(graph_.constants.size());
    graph_.constants.push_back(std::move(constant));
    return number;
  }

  std::vector<int32_t> ValuesOf(const EpValueDef* const* handles, uint64_t count, const char* what) {
    std::vector<int32_t> values;
    const std::span<const EpValueDef* const> list = List(handles, count, what);
    values.reserve(list.size());
    for (const EpValueDef* handle : list) values.push_back(ValueOf(handle));
    return values;
  }

  // Like ValuesOf, for lists that can't leave out values.
  std::vector<int32_t> AllOf(const EpValueDef* const* handles, uint64_t count, const char* what) {
    std::vector<int32_t> values = ValuesOf(handles, count, what);
    if (std::find(values.begin(), values.end(), -1) != values.end())
      Refuse("one of " + std::to_string(count) + " " + what + " is not there");
    return values;
  }

  // Errors name the node, because an invalid type of an output mostly follows from the node's inputs and attributes.
  std::vector<int32_t> OutputsOf(const EpNodeInfo& info, const Node& node) {
    try {
      return ValuesOf(info.outputs, info.output_count, "outputs of a node");
    } catch (const Error& error) {
      throw Error(error.code(), "node '" + node.name + "' (" + node.op_type + "): " + error.what());
    }
  }

  Node NodeOf(const EpNode* handle) {
    if (handle == nullptr) Refuse("a node is not there");
    EpNodeInfo info = {};
    info.struct_size = sizeof info;
    ThrowIfFailed(host_, host_.graph->GetNodeInfo(handle, &info), "a node can't be described");
    Node node;
    node.name = Text(info.name);
    node.op_type = Text(info.op_type);
    if (node.op_type.empty()) Refuse("node '" + node.name + "' has no operator");
    node.domain = Text(info.domain);
    if (node.domain == "ai.onnx") node.domain.clear();
    node.since_version = info.since_version;
    node.inputs = ValuesOf(info.inputs, info.input_count, "inputs of a node");
    node.outputs = OutputsOf(info, node);
    node.implicit_inputs = AllOf(info.implicit_inputs, info.implicit_input_count, "implicit inputs of a node");
    const auto attributes = List(info.attributes, info.attribute_count, "attributes of a node");
    node.attributes.reserve(attributes.size());
    for (const EpAttribute* attribute : attributes) {
      if (attribute == nullptr) Refuse("an attribute of node '" + node.name + "' is not there");
      node.attributes.push_back(ImportAttribute(host_, attribute));
    }
    node.handle = handle;
    return node;
  }

 private:
  const EpHostInfo& host_;
  Graph& graph_;
  std::unordered_map<const EpValueDef*, int32_t> numbers_;
};

}  // namespace

Value ImportValue(const EpValueDefInfo& info) {
  Value value;
  value.name = Text(info.name);
  if (IsConstant(info)) {
    const EpTensorView& view = *info.constant;
    if (!CanBeRank(view.rank))
      Refuse("constant '" + value.name + "' has rank " + std::to_string(view.rank) + "; 64 at most expected");
    value.kind = EP_KIND_TENSOR;
    value.type = view.element_type;
    value.rank = static_cast<int32_t>(view.rank);
    const std::span<const int64_t> dims = List(view.dims, view.rank, "dimensions");
    value.dims.assign(dims.begin(), dims.end());
    return value;
  }
  const EpTypeInfo* type = info.type;
  if (type == nullptr || type->kind > EP_KIND_MAP) return value;
  value.kind = type->kind;
  if (type->kind == EP_KIND_TENSOR && type->rank >= 0) {
    if (!CanBeRank(type->rank))
      Refuse("value '" + value.name + "' has rank " + std::to_string(type->rank) + "; 64 at most expected");
    const std::span<const int64_t> dims = List(type->dims, static_cast<uint64_t>(type->rank), "dimensions");
    uint64_t count = 0;
    if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < -1; }) || !CountElements(dims, &count))
      Refuse("value '" + value.name + "' has the dimensions " + ShapeText(dims) + ", which make no sense");
    value.rank = type->rank;
    value.dims.assign(dims.begin(), dims.end());
  }
  constexpr int kDeepest = 64;  // limit for a type that contains itself
  for (int depth = 0; (type->kind == EP_KIND_SEQUENCE || type->kind == EP_KIND_OPTIONAL) && type->element != nullptr;
       ++depth) {
    if (depth == kDeepest) Refuse("the type of value '" + value.name + "' is nested deeper than 64");
    type = type->element;
  }
  value.type = type->element_type;
  return value;
}

Graph Import(const EpHostInfo& host, const EpGraph* handle, std::string name) {
  Graph graph;
  graph.name = std::move(name);
  EpGraphInfo info = {};
  info.struct_size = sizeof info;
  ThrowIfFailed(host, host.graph->GetGraphInfo(handle, &info), "a graph can't be described");
  const std::span<const EpNode* const> nodes = List(info.nodes, info.node_count, "nodes");
  Importer importer(host, graph, nodes.size() * 2);
  graph.inputs = importer.AllOf(info.inputs, info.input_count, "inputs of the graph");
  graph.nodes.reserve(nodes.size());
  for (const EpNode* node : nodes) graph.nodes.push_back(importer.NodeOf(node));
  graph.outputs = importer.AllOf(info.outputs, info.output_count, "outputs of the graph");
  return graph;
}

void Retain(const EpHostInfo& host, EpTask* task, Constant& constant) {
  if (constant.storage != Constant::Storage::kBorrowed) return;
  // Strings have been copied already, and the bytes of a rewrite have an owner. Only bytes of the host need a
  // reference.
  if (constant.handle != nullptr && constant.tensor.strings == nullptr) {
    EpConstant* reference = nullptr;
    ThrowIfFailed(host, host.task->RetainConstant(task, constant.handle, &reference), "a constant can't be retained");
    const EpTaskApi* const api = host.task;
    constant.owner =
        std::shared_ptr<void>(reference, [api](void* held) { api->ReleaseConstant(static_cast<EpConstant*>(held)); });
  }
  constant.storage = Constant::Storage::kOwned;
  constant.handle = nullptr;
}

void Drop(const EpHostInfo& host, EpTask* task, Constant& constant) {
  if (constant.storage != Constant::Storage::kBorrowed || constant.handle == nullptr) return;
  if (!EP_HAS_FIELD(host.task, EpTaskApi, DropConstant)) return;
  ThrowIfFailed(host, host.task->DropConstant(task, constant.handle), "a constant can't be dropped");
  constant.storage = Constant::Storage::kDropped;
  constant.handle = nullptr;
  constant.tensor.data = nullptr;
}

std::vector<bool> Droppable(const Graph& graph) {
  constexpr uint64_t kWorthACall = uint64_t{64} << 10;
  std::vector<bool> droppable(graph.constants.size(), false);
  std::vector<std::pair<uintptr_t, size_t>> places;
  for (size_t i = 0; i < graph.constants.size(); ++i)
    if (const void* data = graph.constants[i].tensor.data) places.emplace_back(reinterpret_cast<uintptr_t>(data), i);
  std::sort(places.begin(), places.end());
  uintptr_t end = 0;  // end of the bytes seen so far
  for (size_t k = 0; k < places.size(); ++k) {
    const auto [begin, i] = places[k];
    const Constant& constant = graph.constants[i];
    const uint64_t bytes = constant.tensor.Bytes();
    const bool alone = begin >= end && (k + 1 == places.size() || places[k + 1].first >= begin + bytes);
    droppable[i] = alone && bytes >= kWorthACall && constant.storage == Constant::Storage::kBorrowed &&
                   constant.handle != nullptr && constant.owner == nullptr;
    end = std::max<uintptr_t>(end, begin + bytes);
  }
  return droppable;
}

}  // namespace epiphyte::kit::ir
