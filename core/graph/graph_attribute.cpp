#include "core/graph/attribute.h"

#include <utility>

#include "core/base/abi_fill.h"
#include "core/graph/graph.h"

namespace epiphyte::core {
namespace {

template <typename T>
std::vector<T> Single(T value) {
  std::vector<T> values;
  values.push_back(std::move(value));
  return values;
}

}  // namespace

Attribute::Attribute(std::string name, AttributeType type) : name_(std::move(name)), type_(type) {}
Attribute::Attribute(Attribute&&) noexcept = default;
Attribute& Attribute::operator=(Attribute&&) noexcept = default;
Attribute::~Attribute() = default;

Attribute Attribute::Float(std::string name, float value) {
  Attribute attribute(std::move(name), AttributeType::kFloat);
  attribute.floats_ = {value};
  return attribute;
}

Attribute Attribute::Int(std::string name, int64_t value) {
  Attribute attribute(std::move(name), AttributeType::kInt);
  attribute.ints_ = {value};
  return attribute;
}

Attribute Attribute::String(std::string name, std::string value) {
  Attribute attribute(std::move(name), AttributeType::kString);
  attribute.strings_ = Single(std::move(value));
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Tensor(std::string name, ConstantPtr value) {
  Attribute attribute(std::move(name), AttributeType::kTensor);
  attribute.tensors_ = Single(std::move(value));
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Subgraph(std::string name, std::unique_ptr<Graph> value) {
  Attribute attribute(std::move(name), AttributeType::kGraph);
  attribute.graphs_ = Single(std::move(value));
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Floats(std::string name, std::vector<float> values) {
  Attribute attribute(std::move(name), AttributeType::kFloats);
  attribute.floats_ = std::move(values);
  return attribute;
}

Attribute Attribute::Ints(std::string name, std::vector<int64_t> values) {
  Attribute attribute(std::move(name), AttributeType::kInts);
  attribute.ints_ = std::move(values);
  return attribute;
}

Attribute Attribute::Strings(std::string name, std::vector<std::string> values) {
  Attribute attribute(std::move(name), AttributeType::kStrings);
  attribute.strings_ = std::move(values);
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Tensors(std::string name, std::vector<ConstantPtr> values) {
  Attribute attribute(std::move(name), AttributeType::kTensors);
  attribute.tensors_ = std::move(values);
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Subgraphs(std::string name, std::vector<std::unique_ptr<Graph>> values) {
  Attribute attribute(std::move(name), AttributeType::kGraphs);
  attribute.graphs_ = std::move(values);
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Sparse(std::string name, std::vector<ConstantPtr> pairs, bool list) {
  Attribute attribute(std::move(name), list ? AttributeType::kSparseTensors : AttributeType::kSparseTensor);
  attribute.tensors_ = std::move(pairs);
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Types(std::string name, std::vector<TypePtr> values, bool list) {
  Attribute attribute(std::move(name), list ? AttributeType::kTypeProtos : AttributeType::kTypeProto);
  attribute.types_ = std::move(values);
  attribute.BuildViews();
  return attribute;
}

Attribute Attribute::Clone(const std::function<ValueDef*(ValueDef*)>& outer) const {
  Attribute copy(name_, type_);
  copy.floats_ = floats_;
  copy.ints_ = ints_;
  copy.strings_ = strings_;
  copy.tensors_ = tensors_;
  copy.types_ = types_;
  copy.graphs_.reserve(graphs_.size());
  for (const std::unique_ptr<Graph>& graph : graphs_) copy.graphs_.push_back(graph->Clone(outer));
  copy.BuildViews();
  return copy;
}

// Moving an attribute moves its vectors' buffers, so the views stay valid.
void Attribute::BuildViews() {
  string_views_.reserve(strings_.size());
  for (const std::string& text : strings_) string_views_.push_back({text.data(), text.size()});
  tensor_views_.reserve(tensors_.size());
  for (const ConstantPtr& tensor : tensors_) tensor_views_.push_back(tensor ? tensor->abi() : nullptr);
  graph_views_.reserve(graphs_.size());
  for (const std::unique_ptr<Graph>& graph : graphs_) graph_views_.push_back(ToAbi(graph.get()));
  type_views_.reserve(types_.size());
  for (const TypePtr& type : types_) type_views_.push_back(type ? type->abi() : nullptr);
}

void Attribute::FillAbi(EpAttributeInfo* info) const {
  EpAttributeInfo full{};
  full.type = static_cast<EpAttributeType>(type_);
  full.name = name_.c_str();
  switch (type_) {
    case AttributeType::kFloat:
    case AttributeType::kFloats:
      full.count = floats_.size();
      full.floats = floats_.data();
      break;
    case AttributeType::kInt:
    case AttributeType::kInts:
      full.count = ints_.size();
      full.ints = ints_.data();
      break;
    case AttributeType::kString:
    case AttributeType::kStrings:
      full.count = string_views_.size();
      full.strings = string_views_.data();
      break;
    case AttributeType::kTensor:
    case AttributeType::kTensors:
      full.count = tensor_views_.size();
      full.tensors = tensor_views_.data();
      break;
    case AttributeType::kSparseTensor:
    case AttributeType::kSparseTensors:
      full.count = tensor_views_.size() / 2;
      full.tensors = tensor_views_.data();
      break;
    case AttributeType::kGraph:
    case AttributeType::kGraphs:
      full.count = graph_views_.size();
      full.graphs = graph_views_.data();
      break;
    case AttributeType::kTypeProto:
    case AttributeType::kTypeProtos:
      full.count = type_views_.size();
      full.types = type_views_.data();
      break;
  }
  core::FillAbi(full, info);
}

}  // namespace epiphyte::core
