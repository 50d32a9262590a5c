#include "core/onnx/functions/graph_calls.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/onnx/functions/inline_body.h"
#include "core/onnx/microsoft/body.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {
namespace {

bool IsGraphCall(const Node& node) { return node.Is(microsoft::kGraphCall, microsoft::kGraphCallDomain); }

// Replaces the call and returns the new nodes.
std::vector<Node*> ReplaceCall(Node& call) {
  const Attribute* attribute = call.FindAttribute("graph");
  if (attribute == nullptr || attribute->type() != AttributeType::kGraph)
    Fail(StatusCode::kInvalidGraph, "{} has no graph in its attribute 'graph'", NodeLabel(call));
  const Graph& body = attribute->g();
  const std::vector<ValueDef*> inputs = call.inputs();
  if (inputs.size() != body.inputs().size() || call.outputs().size() > body.outputs().size() ||
      std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) {
    Fail(StatusCode::kInvalidGraph, "{} has {} inputs and {} outputs, its graph '{}' {} and {}", NodeLabel(call),
         inputs.size(), call.outputs().size(), body.name(), body.inputs().size(), body.outputs().size());
  }
  std::vector<BodyResult> results;
  for (size_t i = 0; i < call.outputs().size(); ++i) results.push_back({i});
  if (!CanTakePlace(call, body, results)) {
    Fail(StatusCode::kNotImplemented, "{}: its graph '{}' makes values that are no tensors", NodeLabel(call),
         body.name());
  }
  Graph& graph = call.graph();
  const size_t before = graph.nodes().size();
  TakePlace(call, body, inputs, results);
  std::vector<Node*> added;
  for (const auto& node : graph.nodes().subspan(before)) added.push_back(node.get());
  return added;
}

size_t ReplaceIn(Graph& graph);

size_t ReplaceBelow(Node& node) {
  size_t count = 0;
  for (Graph* body : node.subgraphs()) count += ReplaceIn(*body);
  return count;
}

size_t ReplaceIn(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (node != nullptr) nodes.push_back(node.get());
  return ReplaceGraphCalls(&nodes);
}

}  // namespace

size_t ReplaceGraphCalls(std::vector<Node*>* nodes) {
  size_t count = 0;
  std::vector<Node*> kept;
  for (Node* node : *nodes) {
    if (!IsGraphCall(*node)) {
      count += ReplaceBelow(*node);
      kept.push_back(node);
      continue;
    }
    const std::vector<Node*> added = ReplaceCall(*node);
    count += added.size();
    kept.insert(kept.end(), added.begin(), added.end());
  }
  *nodes = std::move(kept);
  return count;
}

}  // namespace epiphyte::core
