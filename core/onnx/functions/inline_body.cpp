#include "core/onnx/functions/inline_body.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/known_operators.h"

namespace epiphyte::core {
namespace {

// First opset with an Identity that accepts all types; optionals were the last addition.
constexpr int64_t kIdentityOfAnything = 16;
constexpr int64_t kUnsqueezeTakesAxes = 13;

int64_t VersionIn(const Graph& graph, std::string_view op_type) { return SinceVersion("", op_type, graph.Opset("")); }

bool IsOptional(const TypePtr& type) { return type != nullptr && type->kind() == EP_KIND_OPTIONAL; }
bool MayBeNoTensor(const TypePtr& type) { return type == nullptr || !type->IsTensor(); }

// The type of a scan output with one slice of the given type.
TypePtr Stacked(const TypePtr& type) {
  if (type == nullptr || !type->IsTensor()) return nullptr;
  if (!type->shape()) return Type::Tensor(type->element_type());
  Shape shape = *type->shape();
  shape.insert(shape.begin(), Dim(1));
  return Type::Tensor(type->element_type(), std::move(shape));
}

// Maps values of a body to values of the target graph.
class BodyCopy {
 public:
  BodyCopy(Node& holder, const Graph& body) : graph_(holder.graph()), body_(body), prefix_(BodyPrefix(holder)) {}

  void Set(const ValueDef* value, ValueDef* twin) { twins_[value] = twin; }
  bool Knows(const ValueDef* value) const { return twins_.contains(value); }

  ValueDef* Of(const ValueDef* value) {
    if (value == nullptr) return nullptr;
    if (value->IsOuterScope()) return value->outer();
    ValueDef*& twin = twins_[value];
    if (twin != nullptr) return twin;
    std::string name = graph_.FreshName(prefix_ + value->name());
    twin = value->IsConstant() ? graph_.AddConstant(std::move(name), value->constant())
                               : graph_.AddValue(std::move(name), value->type());
    if (value->external != nullptr) twin->external = std::make_unique<ExternalLocation>(*value->external);
    return twin;
  }

  void AddNodes() {
    for (const Node* node : body_.TopologicalOrder()) {
      std::vector<Attribute> attributes;
      for (const auto& attribute : node->attributes()) {
        attributes.push_back(attribute->Clone([this](ValueDef* value) { return Of(value); }));
      }
      graph_.AddNode(node->op_type(), node->domain(), node->since_version(), All(node->inputs()), All(node->outputs()),
                     std::move(attributes), node->name());
    }
  }

 private:
  std::vector<ValueDef*> All(const std::vector<ValueDef*>& values) {
    std::vector<ValueDef*> twins;
    for (const ValueDef* value : values) twins.push_back(Of(value));
    return twins;
  }

  Graph& graph_;
  const Graph& body_;
  std::string prefix_;
  std::unordered_map<const ValueDef*, ValueDef*> twins_;
};

void AddUnsqueeze(Graph& graph, ValueDef* slice, ValueDef* output) {
  const int64_t version = VersionIn(graph, "Unsqueeze");
  std::vector<ValueDef*> inputs = {slice};
  std::vector<Attribute> attributes;
  if (version >= kUnsqueezeTakesAxes) {
    constexpr int64_t kFirst = 0;
    ConstantPtr axes = Constant::Copy(DataType::kInt64, {1}, &kFirst, sizeof kFirst);
    inputs.push_back(graph.AddConstant(graph.FreshName(output->name() + "/axes"), std::move(axes)));
  } else {
    attributes.push_back(Attribute::Ints("axes", {0}));
  }
  graph.AddNode("Unsqueeze", "", version, std::move(inputs), {output}, std::move(attributes), output->name());
}

}  // namespace

bool CanTakePlace(const Node& holder, const Graph& body, std::span<const BodyResult> results) {
  const bool identity_takes_all = VersionIn(holder.graph(), "Identity") >= kIdentityOfAnything;
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueDef* output = holder.output(i);
    if (output == nullptr) continue;
    const TypePtr& type = body.outputs()[results[i].output]->type();
    if (results[i].stacked && MayBeNoTensor(type)) return false;
    // An optional value and its element are different values.
    if (IsOptional(type) != IsOptional(output->type())) return false;
    if (!output->IsOutput()) continue;
    if (!identity_takes_all && MayBeNoTensor(type)) return false;
    const TypePtr given = results[i].stacked ? Stacked(type) : type;
    if (given != nullptr && output->type() != nullptr && MergeTypes(output->type(), given) == nullptr) return false;
  }
  return true;
}

void LeadTo(Graph& graph, ValueDef* output, ValueDef* source) {
  if (!output->IsOutput()) {
    graph.ReplaceAllUses(output, source);
    graph.RemoveValue(output);
    return;
  }
  graph.AddNode("Identity", "", VersionIn(graph, "Identity"), {source}, {output}, {}, output->name());
}

void TakePlace(Node& holder, const Graph& body, std::span<ValueDef* const> arguments,
               std::span<const BodyResult> results) {
  Graph& graph = holder.graph();
  const std::vector<ValueDef*> outputs = holder.outputs();
  BodyCopy copy(holder, body);
  for (size_t i = 0; i < arguments.size(); ++i) copy.Set(body.inputs()[i], arguments[i]);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != nullptr) graph.ReplaceOutput(&holder, i, nullptr);
  }
  // Nodes of the body produce the output directly, under the output's own name.
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueDef* result = body.outputs()[results[i].output];
    if (outputs[i] == nullptr || results[i].stacked || result->producer() == nullptr || copy.Knows(result)) continue;
    const TypePtr merged = outputs[i]->type() == nullptr || result->type() == nullptr
                               ? nullptr
                               : MergeTypes(outputs[i]->type(), result->type());
    if (merged != nullptr) {
      outputs[i]->set_type(merged);
    } else if (result->type() != nullptr) {
      outputs[i]->set_type(result->type());
    }
    copy.Set(result, outputs[i]);
  }
  copy.AddNodes();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr) continue;
    ValueDef* result = copy.Of(body.outputs()[results[i].output]);
    if (result == outputs[i]) continue;
    if (results[i].stacked) {
      AddUnsqueeze(graph, result, outputs[i]);
    } else {
      LeadTo(graph, outputs[i], result);
    }
  }
  graph.RemoveNode(&holder);
}

}  // namespace epiphyte::core
