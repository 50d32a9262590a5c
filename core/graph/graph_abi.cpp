// Graph, Node and ValueDef as the C ABI presents them.
#include "core/base/abi_fill.h"
#include "core/graph/graph.h"

namespace epiphyte::core {
namespace {

// The IR's own arrays serve as arrays of handles, because a handle is the object's address.
template <typename Handle, typename T>
const Handle* const* Handles(const std::vector<T*>& objects) {
  return reinterpret_cast<const Handle* const*>(objects.data());
}

constexpr EpTypeInfo kUnknownType = {
    sizeof(EpTypeInfo), EP_KIND_UNKNOWN, EP_TYPE_UNDEFINED, -1, nullptr, nullptr, nullptr};

}  // namespace

void Graph::FillAbi(EpGraphInfo* info) const {
  EpGraphInfo full{};
  full.opset_count = static_cast<uint32_t>(opset_versions_.size());
  full.name = name_.c_str();
  full.nodes = abi_nodes_.data();
  full.node_count = abi_nodes_.size();
  full.inputs = Handles<EpValueDef>(inputs_);
  full.input_count = inputs_.size();
  full.outputs = Handles<EpValueDef>(outputs_);
  full.output_count = outputs_.size();
  full.constants = abi_constants_.data();
  full.constant_count = abi_constants_.size();
  full.opset_domains = opset_domains_.data();
  full.opset_versions = opset_versions_.data();
  full.parent = ToAbi(parent_);
  core::FillAbi(full, info);
}

void FillNodeInfo(const Node& node, EpNodeInfo* info) {
  EpNodeInfo full{};
  full.flags = node.provider != kUnplaced ? EP_NODE_PLACED : 0;
  full.id = node.id();
  full.name = node.name().c_str();
  full.op_type = node.op_type().c_str();
  full.domain = node.domain().c_str();
  full.since_version = node.since_version();
  full.inputs = Handles<EpValueDef>(node.inputs());
  full.input_count = node.inputs().size();
  full.outputs = Handles<EpValueDef>(node.outputs());
  full.output_count = node.outputs().size();
  full.implicit_inputs = Handles<EpValueDef>(node.implicit_inputs());
  full.implicit_input_count = node.implicit_inputs().size();
  static_assert(sizeof(std::unique_ptr<Attribute>) == sizeof(Attribute*));
  full.attributes = reinterpret_cast<const EpAttribute* const*>(node.attributes().data());
  full.attribute_count = node.attributes().size();
  full.subgraphs = Handles<EpGraph>(node.subgraphs());
  full.subgraph_count = node.subgraphs().size();
  FillAbi(full, info);
}

void FillValueDefInfo(const ValueDef& value, EpValueDefInfo* info) {
  const Constant* constant = value.ResolvedConstant().get();
  EpValueDefInfo full{};
  if (value.IsInput()) full.flags |= EP_VALUE_GRAPH_INPUT;
  if (value.IsOutput()) full.flags |= EP_VALUE_GRAPH_OUTPUT;
  if (constant != nullptr) full.flags |= EP_VALUE_CONSTANT;
  if (value.IsOuterScope()) full.flags |= EP_VALUE_OUTER_SCOPE;
  full.id = value.id();
  full.name = value.name().c_str();
  full.type = value.type() != nullptr ? value.type()->abi() : &kUnknownType;
  full.constant = constant != nullptr ? constant->lent() : nullptr;
  full.producer = ToAbi(value.producer());
  full.producer_output = value.producer_output();
  full.consumers = Handles<EpNode>(value.consumers());
  full.consumer_count = value.consumers().size();
  FillAbi(full, info);
}

}  // namespace epiphyte::core
