#include "tests/models/rewrite/graph_rewriter.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

namespace epiphyte::test {
namespace {

template <typename T>
std::string RawBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Adds all values that a node reads, including those read in its bodies.
void AddRead(const onnx::NodeProto& node, std::set<std::string>* read) {
  read->insert(node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const onnx::ValueInfoProto& output : attribute.g().output()) read->insert(output.name());
    for (const onnx::NodeProto& inner : attribute.g().node()) AddRead(inner, read);
  }
}

template <typename Repeated, typename Predicate>
void EraseIf(Repeated* items, const Predicate& goes) {
  int kept = 0;
  for (int i = 0; i < items->size(); ++i) {
    if (goes(items->Get(i))) continue;
    if (kept != i) items->SwapElements(kept, i);
    ++kept;
  }
  items->DeleteSubrange(kept, items->size() - kept);
}

}  // namespace

GraphRewriter::GraphRewriter(onnx::GraphProto* graph) : graph_(*graph) {
  for (const onnx::NodeProto& node : graph_.node()) {
    const onnx::AttributeProto* value = node.op_type() == "Constant" ? FindAttribute(node, "value") : nullptr;
    if (value != nullptr) small_[node.output(0)] = value->t();
  }
  Remember();
}

void GraphRewriter::Remember() {
  initializers_.clear();
  for (int i = 0; i < graph_.initializer_size(); ++i) initializers_[graph_.initializer(i).name()] = i;
}

std::vector<onnx::NodeProto> GraphRewriter::TakeNodes() {
  std::vector<onnx::NodeProto> nodes;
  for (onnx::NodeProto& node : *graph_.mutable_node()) nodes.push_back(std::move(node));
  graph_.clear_node();
  // The recorded types and shapes of values may be wrong after the rewrite.
  graph_.clear_value_info();
  return nodes;
}

std::string GraphRewriter::Emit(const std::string& op_type, const std::vector<std::string>& inputs,
                                const std::string& output, const std::vector<Attribute>& attributes,
                                const std::string& domain) {
  onnx::NodeProto* node = graph_.add_node();
  node->set_op_type(op_type);
  node->set_domain(domain);
  node->set_name(op_type + "__" + std::to_string(made_++));
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output.empty() ? node->name() + ":0" : output);
  for (const Attribute& attribute : attributes) WriteAttribute(attribute, node->add_attribute());
  return node->output(0);
}

const onnx::TensorProto* GraphRewriter::Constant(const std::string& value) const {
  if (const auto small = small_.find(value); small != small_.end()) return &small->second;
  if (const auto found = initializers_.find(value); found != initializers_.end()) {
    return &graph_.initializer(found->second);
  }
  return nullptr;
}

std::vector<int64_t> GraphRewriter::IntsOf(const std::string& value) const {
  const onnx::TensorProto* tensor = Constant(value);
  if (tensor == nullptr || tensor->data_type() != onnx::TensorProto::INT64) {
    throw std::invalid_argument("'" + value + "' is no constant of integers, which the spelling needs");
  }
  if (!tensor->has_raw_data()) return {tensor->int64_data().begin(), tensor->int64_data().end()};
  std::vector<int64_t> numbers(tensor->raw_data().size() / sizeof(int64_t));
  std::memcpy(numbers.data(), tensor->raw_data().data(), tensor->raw_data().size());
  return numbers;
}

std::string GraphRewriter::Floats(const std::string& name, const std::vector<int64_t>& dims,
                                  const std::vector<float>& values) {
  return Bytes(name, onnx::TensorProto::FLOAT, dims, RawBytes(values));
}

std::string GraphRewriter::Ints(const std::string& name, const std::vector<int64_t>& dims,
                                const std::vector<int64_t>& values) {
  return Bytes(name, onnx::TensorProto::INT64, dims, RawBytes(values));
}

std::string GraphRewriter::Bytes(const std::string& name, Elem type, const std::vector<int64_t>& dims,
                                 std::string bytes) {
  if (!initializers_.try_emplace(name, graph_.initializer_size()).second) return name;
  onnx::TensorProto* tensor = graph_.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
  tensor->set_raw_data(std::move(bytes));
  return name;
}

void GraphRewriter::DropUnused() {
  // A node stands behind the nodes that it reads, so one pass from the end finds all that are needed.
  std::set<std::string> read;
  for (const onnx::ValueInfoProto& output : graph_.output()) read.insert(output.name());
  std::vector<bool> stays(static_cast<size_t>(graph_.node_size()));
  for (int n = graph_.node_size() - 1; n >= 0; --n) {
    const onnx::NodeProto& node = graph_.node(n);
    stays[static_cast<size_t>(n)] = std::ranges::any_of(node.output(), [&](const auto& o) { return read.contains(o); });
    if (stays[static_cast<size_t>(n)]) AddRead(node, &read);
  }
  size_t n = 0;
  EraseIf(graph_.mutable_node(), [&](const onnx::NodeProto&) { return !stays[n++]; });
  EraseIf(graph_.mutable_initializer(), [&](const onnx::TensorProto& tensor) { return !read.contains(tensor.name()); });
  Remember();
}

void SetAttribute(onnx::NodeProto* node, const Attribute& attribute) {
  for (onnx::AttributeProto& existing : *node->mutable_attribute()) {
    if (existing.name() != attribute.name) continue;
    existing.Clear();
    WriteAttribute(attribute, &existing);
    return;
  }
  WriteAttribute(attribute, node->add_attribute());
}

void EraseAttribute(onnx::NodeProto* node, const std::string& name) {
  EraseIf(node->mutable_attribute(), [&](const onnx::AttributeProto& attribute) { return attribute.name() == name; });
}

std::vector<float> FloatsOf(const onnx::TensorProto& tensor) { return ModelFile{}.Floats(tensor); }

}  // namespace epiphyte::test
