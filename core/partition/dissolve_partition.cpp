#include "core/partition/dissolve_partition.h"

#include <unordered_map>

namespace epiphyte::core {

std::vector<Node*> DissolvePartition(const Partition& partition) {
  Node* fused = partition.node;
  Graph& graph = fused->graph();
  const Graph& inner = *partition.graph;
  std::vector<ValueDef*> outer_inputs(fused->inputs().begin(), fused->inputs().end());
  std::vector<ValueDef*> outer_outputs(fused->outputs().begin(), fused->outputs().end());
  graph.RemoveNode(fused);

  std::unordered_map<const ValueDef*, ValueDef*> outer_of;
  for (size_t i = 0; i < inner.inputs().size(); ++i) outer_of[inner.inputs()[i]] = outer_inputs[i];
  for (size_t i = 0; i < inner.outputs().size(); ++i) outer_of.try_emplace(inner.outputs()[i], outer_outputs[i]);
  const auto map_value = [&](ValueDef* value) -> ValueDef* {
    if (value == nullptr) return nullptr;
    const auto [found, is_new] = outer_of.try_emplace(value, nullptr);
    if (!is_new) return found->second;
    std::string name = value->name();
    ValueDef* existing = graph.FindValue(name);
    // The nodes were in this graph under these names; only the names of values that the partition removed are free
    // again.
    if (existing != nullptr && (existing->producer() != nullptr || existing->IsInput() || existing->IsConstant())) {
      if (existing->IsConstant() && value->IsConstant() && existing->constant() == value->constant())
        return outer_of[value] = existing;
      name = graph.FreshName(name);
      existing = nullptr;
    }
    if (existing == nullptr) {
      existing = value->IsConstant() ? graph.AddConstant(name, value->constant()) : graph.AddValue(name, value->type());
    } else if (value->IsConstant()) {
      graph.SetConstant(existing, value->constant());
    }
    if (value->external != nullptr && existing->external == nullptr) {
      existing->external = std::make_unique<ExternalLocation>(*value->external);
    }
    return outer_of[value] = existing;
  };
  std::vector<Node*> nodes;
  nodes.reserve(inner.node_count());
  for (const Node* node : inner.TopologicalOrder()) {
    std::vector<ValueDef*> inputs;
    std::vector<ValueDef*> outputs;
    for (ValueDef* input : node->inputs()) inputs.push_back(map_value(input));
    for (ValueDef* output : node->outputs()) outputs.push_back(map_value(output));
    std::vector<Attribute> attributes;
    for (const auto& attribute : node->attributes()) attributes.push_back(attribute->Clone(map_value));
    nodes.push_back(graph.AddNode(node->op_type(), node->domain(), node->since_version(), std::move(inputs),
                                  std::move(outputs), std::move(attributes), node->name()));
  }
  return nodes;
}

}  // namespace epiphyte::core
