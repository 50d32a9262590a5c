#include "tests/models/rewrite/graph_index.h"

namespace epiphyte::test {

GraphIndex::GraphIndex(const onnx::GraphProto& graph) : graph_(&graph) {
  for (const onnx::TensorProto& tensor : graph.initializer()) initializers_[tensor.name()] = &tensor;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
  for (int n = 0; n < graph.node_size(); ++n) {
    for (const std::string& output : graph.node(n).output()) {
      if (!output.empty()) producers_[output] = n;
    }
    for (const std::string& input : graph.node(n).input()) {
      if (!input.empty()) readers_[input].push_back(n);
    }
    for (const onnx::AttributeProto& attribute : graph.node(n).attribute()) {
      if (attribute.has_g()) AddCaptured(attribute.g());
      for (const onnx::GraphProto& body : attribute.graphs()) AddCaptured(body);
    }
  }
}

// Adds names that the body defines itself, too. That does no harm, because they hide outer values of the same name.
void GraphIndex::AddCaptured(const onnx::GraphProto& body) {
  for (const onnx::ValueInfoProto& output : body.output()) captured_.insert(output.name());
  for (const onnx::NodeProto& node : body.node()) {
    captured_.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) AddCaptured(attribute.g());
      for (const onnx::GraphProto& inner : attribute.graphs()) AddCaptured(inner);
    }
  }
}

int GraphIndex::Producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? -1 : found->second;
}

const std::vector<int>& GraphIndex::Readers(const std::string& value) const {
  static const std::vector<int> kNone;
  const auto found = readers_.find(value);
  return found == readers_.end() ? kNone : found->second;
}

const onnx::TensorProto* GraphIndex::Initializer(const std::string& name) const {
  const auto found = initializers_.find(name);
  return found == initializers_.end() ? nullptr : found->second;
}

int GraphIndex::OnlyReader(const std::string& value) const {
  const std::vector<int>& readers = Readers(value);
  return readers.size() != 1 || IsOutput(value) || IsCaptured(value) ? -1 : readers[0];
}

}  // namespace epiphyte::test
