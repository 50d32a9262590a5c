#include <unordered_map>

#include "plugins/cpu/exec/plan_def.h"
#include "plugins/cpu/kernel/host.h"

namespace epiphyte::cpu {
namespace {

bool IsConstant(const EpValueDefInfo& info) {
  return (info.flags & EP_VALUE_CONSTANT) != 0 && info.constant != nullptr;
}

Tensor ViewTensor(const EpTensorView& view) {
  Tensor tensor;
  tensor.type = view.element_type;
  tensor.dims.assign(view.dims, view.rank);
  if (view.element_type == EP_TYPE_STRING) {
    const auto* strings = static_cast<const EpString*>(view.data);
    tensor.strings = std::make_shared<std::vector<std::string>>();
    tensor.strings->reserve(view.element_count);
    for (uint64_t i = 0; i < view.element_count; ++i) tensor.strings->emplace_back(strings[i].data, strings[i].size);
  } else {
    tensor.data = const_cast<void*>(view.data);
  }
  return tensor;
}

AttributeValue ImportAttribute(const EpHostInfo* host, const EpAttribute* attribute) {
  EpAttributeInfo info = {sizeof info};
  ThrowIfFailed(host, host->graph->GetAttributeInfo(attribute, &info), "an attribute can't be described");
  AttributeValue value;
  value.name = info.name;
  value.type = info.type;
  switch (info.type) {
    case EP_ATTRIBUTE_FLOAT:
    case EP_ATTRIBUTE_FLOATS: value.floats.assign(info.floats, info.floats + info.count); break;
    case EP_ATTRIBUTE_INT:
    case EP_ATTRIBUTE_INTS: value.ints.assign(info.ints, info.ints + info.count); break;
    case EP_ATTRIBUTE_STRING:
    case EP_ATTRIBUTE_STRINGS:
      for (uint64_t i = 0; i < info.count; ++i) value.strings.emplace_back(info.strings[i].data, info.strings[i].size);
      break;
    case EP_ATTRIBUTE_TENSOR:
    case EP_ATTRIBUTE_TENSORS:
    case EP_ATTRIBUTE_SPARSE_TENSOR:
    case EP_ATTRIBUTE_SPARSE_TENSORS: {
      const bool sparse = info.type == EP_ATTRIBUTE_SPARSE_TENSOR || info.type == EP_ATTRIBUTE_SPARSE_TENSORS;
      const uint64_t count = sparse ? info.count * 2 : info.count;
      for (uint64_t i = 0; i < count; ++i) {
        Tensor tensor = ViewTensor(*info.tensors[i]);
        const uint64_t bytes = tensor.Bytes();
        if (tensor.data != nullptr && bytes != 0) {
          std::shared_ptr<void> copy(::operator new(bytes, std::align_val_t(64)),
                                     [](void* p) { ::operator delete(p, std::align_val_t(64)); });
          std::memcpy(copy.get(), tensor.data, bytes);
          tensor.data = copy.get();
          value.tensor_owners.push_back(std::move(copy));
        }
        value.tensors.push_back(std::move(tensor));
      }
      break;
    }
    default: break;
  }
  return value;
}

class Importer {
 public:
  Importer(const EpHostInfo* host, PlanDef& plan, size_t values) : host_(host), plan_(plan) {
    indices_.reserve(values);
  }

  int32_t Value(const EpValueDef* def) {
    if (def == nullptr) return -1;
    const auto [it, added] = indices_.try_emplace(def, static_cast<int32_t>(plan_.values.size()));
    if (!added) return it->second;
    EpValueDefInfo info = {sizeof info};
    ThrowIfFailed(host_, host_->graph->GetValueDefInfo(def, &info), "a value can't be described");
    const int32_t index = plan_.AddValue(ImportValueInfo(info));
    if (IsConstant(info)) {
      ConstantDef constant;
      constant.value = index;
      constant.tensor = ViewTensor(*info.constant);
      constant.handle = def;
      constant.borrowed = true;
      plan_.constant_of_value[index] = static_cast<int32_t>(plan_.constants.size());
      plan_.constants.push_back(std::move(constant));
    }
    return index;
  }

  NodeDef Node(const EpNode* handle) {
    EpNodeInfo info = {sizeof info};
    ThrowIfFailed(host_, host_->graph->GetNodeInfo(handle, &info), "a node can't be described");
    NodeDef node;
    node.op_type = info.op_type;
    node.domain = std::string_view(info.domain) == "ai.onnx" ? "" : info.domain;
    node.since_version = info.since_version;
    node.name = info.name;
    node.inputs.reserve(info.input_count);
    for (uint64_t i = 0; i < info.input_count; ++i) node.inputs.push_back(Value(info.inputs[i]));
    node.outputs.reserve(info.output_count);
    for (uint64_t i = 0; i < info.output_count; ++i) node.outputs.push_back(Value(info.outputs[i]));
    node.attributes.reserve(info.attribute_count);
    for (uint64_t i = 0; i < info.attribute_count; ++i)
      node.attributes.push_back(ImportAttribute(host_, info.attributes[i]));
    return node;
  }

 private:
  const EpHostInfo* host_;
  PlanDef& plan_;
  std::unordered_map<const EpValueDef*, int32_t> indices_;
};

}  // namespace

ArgumentType ToArgument(const EpValueDefInfo& info) {
  if (IsConstant(info))
    return {true, EP_KIND_TENSOR, info.constant->element_type, static_cast<int32_t>(info.constant->rank)};
  ArgumentType argument{true};
  const EpTypeInfo* type = info.type;
  if (type == nullptr) return argument;
  argument.kind = type->kind;
  if (type->kind == EP_KIND_TENSOR && type->rank >= 0) argument.rank = type->rank;
  while ((type->kind == EP_KIND_SEQUENCE || type->kind == EP_KIND_OPTIONAL) && type->element != nullptr)
    type = type->element;
  argument.type = type->element_type;
  return argument;
}

ValueInfo ImportValueInfo(const EpValueDefInfo& info) {
  const ArgumentType known = ToArgument(info);
  ValueInfo value;
  value.name = info.name;
  value.kind = known.kind;
  value.type = known.type;
  value.rank = known.rank;
  if (known.rank >= 0) {
    const int64_t* const dims = IsConstant(info) ? info.constant->dims : info.type->dims;
    value.dims.assign(dims, dims + known.rank);
  }
  return value;
}

void DescribeArguments(const std::vector<int32_t>& arguments, const std::vector<ValueInfo>& values,
                       std::vector<ArgumentType>* described) {
  described->clear();
  for (int32_t value : arguments)
    described->push_back(value < 0 ? ArgumentType() : ToArgument(values[static_cast<size_t>(value)]));
}

PlanDef ImportGraph(const EpHostInfo* host, const EpGraph* graph, std::string name) {
  PlanDef plan;
  plan.name = std::move(name);
  EpGraphInfo info = {sizeof info};
  ThrowIfFailed(host, host->graph->GetGraphInfo(graph, &info), "a graph can't be described");
  Importer importer(host, plan, info.node_count * 2);
  for (uint64_t i = 0; i < info.input_count; ++i) plan.inputs.push_back(importer.Value(info.inputs[i]));
  plan.nodes.reserve(info.node_count);
  for (uint64_t i = 0; i < info.node_count; ++i) plan.nodes.push_back(importer.Node(info.nodes[i]));
  for (uint64_t i = 0; i < info.output_count; ++i) plan.outputs.push_back(importer.Value(info.outputs[i]));
  return plan;
}

}  // namespace epiphyte::cpu
