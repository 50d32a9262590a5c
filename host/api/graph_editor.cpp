// Changes to a graph. Each change is checked before the graph is modified.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/schema.h"
#include "host/api/access.h"
#include "host/api/graph_state.h"

namespace epiphyte {
namespace {

using core::Fail;
using Code = core::StatusCode;

constexpr size_t kMostOutputs = 1024;
constexpr size_t kMostInputs = 65536;

void CheckText(std::string_view text, std::string_view what) {
  if (text.size() <= 4096 && text.find('\0') == std::string_view::npos) return;
  Fail(Code::kInvalidArgument, "{} has {} bytes or a zero byte among them; at most 4096 without one expected", what,
       text.size());
}

core::ConstantPtr TensorOf(const Value& value, std::string_view what) {
  if (!value.IsTensor()) Fail(Code::kInvalidArgument, "{} is no tensor; only tensors are possible", what);
  return core::ToConstant(Access::ShareOnHost(value));
}

core::Attribute MakeAttribute(std::string_view name, const AttributeValue& value) {
  CheckText(name, "the name of an attribute");
  if (name.empty()) Fail(Code::kInvalidArgument, "an attribute has no name; give it one");
  std::string key(name);
  switch (value.index()) {
    case 0: return core::Attribute::Int(std::move(key), std::get<0>(value));
    case 1: return core::Attribute::Float(std::move(key), std::get<1>(value));
    case 2: return core::Attribute::String(std::move(key), std::get<2>(value));
    case 3: return core::Attribute::Ints(std::move(key), std::get<3>(value));
    case 4: return core::Attribute::Floats(std::move(key), std::get<4>(value));
    case 5: return core::Attribute::Strings(std::move(key), std::get<5>(value));
    default: break;
  }
  return core::Attribute::Tensor(std::move(key), TensorOf(std::get<6>(value), "attribute '" + std::string(name) + "'"));
}

int64_t VersionIn(const core::Graph& graph, const NewNode& node) {
  const std::string_view domain = core::NormalDomain(node.domain);
  const int64_t opset = graph.Opset(domain);
  if (opset == 0) {
    Fail(Code::kInvalidArgument, "{} can't be added: the model doesn't import domain '{}'; call ImportDomain before",
         node.op_type, domain.empty() ? "ai.onnx" : domain);
  }
  if (core::MaxOpset(domain) == 0) return opset;
  const int64_t version = core::SinceVersion(domain, node.op_type, opset);
  if (version != 0) return version;
  const std::string nearest = core::NearestOperator(domain, node.op_type);
  Fail(Code::kInvalidArgument, "opset {} of domain '{}' has no operator '{}'{}", opset,
       domain.empty() ? "ai.onnx" : domain, node.op_type,
       nearest.empty() || nearest == node.op_type ? "" : fmt::format("; did you mean {}?", nearest));
}

// Returns the top-level graph.
core::Graph& Outermost(core::Graph& graph) {
  core::Graph* outer = &graph;
  while (outer->parent() != nullptr) outer = &outer->parent()->graph();
  return *outer;
}

void SetOpsetEverywhere(core::Graph& graph, const std::string& domain, int64_t version) {
  graph.SetOpset(domain, version);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (core::Graph* body : node->subgraphs()) SetOpsetEverywhere(*body, domain, version);
  }
}

// A use of `from` as an input of a node that the transform added and that `to` depends on.
struct Use {
  core::Node* node;
  size_t index;
};

std::vector<Use> UsesBehind(const GraphState& state, const core::ValueDef& from, const core::ValueDef& to) {
  std::vector<Use> uses;
  std::vector<core::Node*> pending;
  std::unordered_set<const core::Node*> seen;
  const auto visit = [&](core::Node* node) {
    if (node != nullptr && state.WasAdded(node) && seen.insert(node).second) pending.push_back(node);
  };
  visit(to.producer());
  while (!pending.empty()) {
    core::Node* const node = pending.back();
    pending.pop_back();
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->inputs()[i] == &from) {
        uses.push_back({node, i});
      } else if (node->inputs()[i] != nullptr) {
        visit(node->inputs()[i]->producer());
      }
    }
  }
  return uses;
}

bool IsIdentityOf(const core::Node* node, const core::ValueDef& value) {
  return node != nullptr && node->Is("Identity") && node->input(0) == &value;
}

// Replaces `from`, an output of the graph, by `to`. The output keeps its name, so `to` becomes `from`. Returns false
// when the graph already has this form.
bool TakeOverOutput(GraphState& state, core::ValueDef& from, core::ValueDef& to) {
  core::Graph& graph = state.graph();
  core::Node* const old = from.producer();
  if (old == nullptr) {
    Fail(Code::kInvalidArgument,
         "value '{}' can't be replaced: it is an output of the graph that no node makes, and an output keeps its name",
         from.name());
  }
  core::Node* const maker = to.producer();
  const bool direct = maker != nullptr && !to.IsOutput();
  if (!direct && IsIdentityOf(old, to)) return false;
  const std::vector<Use> uses = UsesBehind(state, from, to);
  core::ValueDef* const rest = graph.AddValue(graph.FreshName(from.name()), from.type());
  graph.ReplaceOutput(old, from.producer_output(), rest);
  for (const Use& use : uses) graph.ReplaceInput(use.node, use.index, rest);
  for (const core::Node* consumer : from.consumers()) state.Changed(consumer);
  if (!direct) {
    state.Added(graph.AddNode("Identity", "", core::SinceVersion("", "Identity", std::max<int64_t>(graph.Opset(""), 1)),
                              {&to}, {&from}, {}, from.name()));
    return true;
  }
  for (const core::Node* consumer : to.consumers()) state.Changed(consumer);
  const uint32_t index = to.producer_output();
  graph.ReplaceAllUses(&to, &from);
  graph.ReplaceOutput(maker, index, &from);
  state.Changed(maker);
  state.Forget(&to, &from);
  graph.RemoveValue(&to);
  return true;
}

// Returns false when no change was needed.
bool Redirect(GraphState& state, core::ValueDef& from, core::ValueDef& to) {
  if (&from == &to) return false;
  if (from.IsOutput()) {
    if (!TakeOverOutput(state, from, to)) return false;
  } else {
    if (from.consumers().empty()) return false;
    const std::vector<Use> uses = UsesBehind(state, from, to);
    if (uses.size() == from.consumers().size()) return false;
    for (const core::Node* consumer : from.consumers()) state.Changed(consumer);
    state.graph().ReplaceAllUses(&from, &to);
    for (const Use& use : uses) state.graph().ReplaceInput(use.node, use.index, &from);
  }
  state.CountEdit();
  return true;
}

void CheckUnused(const core::Node& node) {
  for (const core::ValueDef* output : node.outputs()) {
    if (output == nullptr || (output->consumers().empty() && !output->IsOutput())) continue;
    Fail(Code::kInvalidArgument, "{} can't be removed: {}; replace its uses first (ReplaceUses)", core::NodeLabel(node),
         output->IsOutput()
             ? fmt::format("'{}' is an output of the graph", output->name())
             : fmt::format("{} reads '{}'", core::NodeLabel(*output->consumers().front()), output->name()));
  }
}

void RemoveUnused(GraphState& state, core::Node& node) {
  const std::vector<core::ValueDef*> outputs = node.outputs();
  state.Forget(&node);
  state.graph().RemoveNode(&node);
  for (core::ValueDef* output : outputs) {
    if (output == nullptr) continue;
    state.Forget(output);
    state.graph().RemoveValue(output);
  }
  state.CountEdit();
}

void RefuseGraphAttribute(const core::Node& node, std::string_view name) {
  const core::Attribute* attribute = node.FindAttribute(name);
  if (attribute == nullptr || attribute->graphs().empty()) return;
  Fail(Code::kInvalidArgument, "{}: attribute '{}' is a graph and can't be changed; the transform is called for it",
       core::NodeLabel(node), name);
}

}  // namespace

bool GraphEditor::is_nested() const {
  return WithPublicErrors([&] { return state_->graph().parent() != nullptr; });
}

int64_t GraphEditor::opset(std::string_view domain) const {
  return WithPublicErrors([&] { return state_->graph().Opset(core::NormalDomain(domain)); });
}

std::vector<GraphNode> GraphEditor::nodes() const {
  return WithPublicErrors([&] {
    std::vector<GraphNode> nodes;
    nodes.reserve(state_->graph().node_count());
    for (const auto& node : state_->graph().nodes()) {
      if (node != nullptr) nodes.push_back(state_->HandleOf(node.get()));
    }
    return nodes;
  });
}

std::vector<GraphValue> GraphEditor::inputs() const {
  return WithPublicErrors([&] { return state_->HandlesOf(state_->graph().inputs()); });
}

std::vector<GraphValue> GraphEditor::outputs() const {
  return WithPublicErrors([&] { return state_->HandlesOf(state_->graph().outputs()); });
}

GraphValue GraphEditor::FindValue(std::string_view name) const {
  return WithPublicErrors([&] { return state_->HandleOf(state_->graph().FindValue(name)); });
}

GraphValue GraphEditor::AddConstant(const Value& tensor, std::string_view name) {
  return WithPublicErrors([&] {
    core::Graph& graph = state_->graph();
    CheckText(name, "the name of a constant");
    core::ConstantPtr constant = TensorOf(tensor, fmt::format("constant '{}'", name));
    state_->TakeRoom();
    core::ValueDef* const value = graph.AddConstant(graph.FreshName(name), std::move(constant));
    state_->CountEdit();
    return state_->HandleOf(value);
  });
}

GraphNode GraphEditor::AddNode(const NewNode& node) {
  return WithPublicErrors([&] {
    core::Graph& graph = state_->graph();
    CheckText(node.op_type, "the name of an operator");
    CheckText(node.name, "the name of a node");
    if (node.op_type.empty()) Fail(Code::kInvalidArgument, "a node without an operator can't be added");
    if (node.output_count == 0 || node.output_count > kMostOutputs || node.inputs.size() > kMostInputs) {
      Fail(Code::kInvalidArgument, "{} can't be added with {} inputs and {} outputs; at most {}, and 1 to {} expected",
           node.op_type, node.inputs.size(), node.output_count, kMostInputs, kMostOutputs);
    }
    const int64_t version = VersionIn(graph, node);
    std::vector<core::ValueDef*> inputs;
    for (const GraphValue& input : node.inputs) inputs.push_back(state_->ResolveOptional(input));
    while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
    std::vector<core::Attribute> attributes;
    for (const auto& [name, value] : node.attributes) attributes.push_back(MakeAttribute(name, value));
    state_->TakeRoom();
    const std::string name = node.name.empty() ? state_->transform() + "/" + node.op_type : node.name;
    std::vector<core::ValueDef*> outputs;
    for (size_t i = 0; i < node.output_count; ++i) outputs.push_back(graph.AddValue(graph.FreshName(name + "/output")));
    core::Node* const added = graph.AddNode(node.op_type, core::NormalDomain(node.domain), version, std::move(inputs),
                                            std::move(outputs), std::move(attributes), name);
    state_->Added(added);
    return state_->HandleOf(added);
  });
}

void GraphEditor::ImportDomain(std::string_view domain, int64_t version) {
  WithPublicErrors([&] {
    core::Graph& graph = state_->graph();
    domain = core::NormalDomain(domain);
    CheckText(domain, "a domain");
    const int64_t known = graph.Opset(domain);
    if (known == version && version > 0) return;
    if (known != 0 || version < 1 || core::MaxOpset(domain) != 0) {
      Fail(Code::kInvalidArgument, "domain '{}' can't be imported in version {}: {}",
           domain.empty() ? "ai.onnx" : domain, version,
           known != 0 ? fmt::format("the model imports version {}", known)
                      : std::string("a version of 1 or more of a provider's domain expected"));
    }
    SetOpsetEverywhere(Outermost(graph), std::string(domain), version);
    state_->CountEdit();
  });
}

void GraphEditor::SetInput(const GraphNode& node, size_t index, const GraphValue& value) {
  WithPublicErrors([&] {
    core::Node& target = state_->Resolve(node);
    core::ValueDef* const input = state_->ResolveOptional(value);
    if (index >= kMostInputs) {
      Fail(Code::kInvalidArgument, "{} can't have an input {}; at most {} inputs expected", core::NodeLabel(target),
           index, kMostInputs);
    }
    if (target.input(index) == input) return;
    state_->graph().ReplaceInput(&target, index, input);
    state_->Changed(&target);
    state_->CountEdit();
  });
}

void GraphEditor::SetAttribute(const GraphNode& node, std::string_view name, const AttributeValue& value) {
  WithPublicErrors([&] {
    core::Node& target = state_->Resolve(node);
    RefuseGraphAttribute(target, name);
    target.SetAttribute(MakeAttribute(name, value));
    state_->Changed(&target);
    state_->CountEdit();
  });
}

void GraphEditor::RemoveAttribute(const GraphNode& node, std::string_view name) {
  WithPublicErrors([&] {
    core::Node& target = state_->Resolve(node);
    RefuseGraphAttribute(target, name);
    if (target.FindAttribute(name) == nullptr) return;
    target.RemoveAttribute(name);
    state_->Changed(&target);
    state_->CountEdit();
  });
}

void GraphEditor::ReplaceUses(const GraphValue& from, const GraphValue& to) {
  WithPublicErrors([&] { Redirect(*state_, state_->Resolve(from), state_->Resolve(to)); });
}

void GraphEditor::Replace(const GraphNode& node, const std::vector<GraphValue>& values) {
  WithPublicErrors([&] {
    core::Node& old = state_->Resolve(node);
    const std::vector<core::ValueDef*> outputs = old.outputs();
    std::vector<core::ValueDef*> replacements;
    for (const GraphValue& value : values) replacements.push_back(state_->ResolveOptional(value));
    const auto is_used = [](const core::ValueDef* output) {
      return output != nullptr && (output->IsOutput() || !output->consumers().empty());
    };
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!is_used(outputs[i])) continue;
      if (i >= replacements.size() || replacements[i] == nullptr) {
        Fail(Code::kInvalidArgument, "{} can't be replaced: its output '{}' is used, and no value was given for it",
             core::NodeLabel(old), outputs[i]->name());
      }
      if (replacements[i]->producer() == &old || !UsesBehind(*state_, *outputs[i], *replacements[i]).empty()) {
        Fail(Code::kInvalidArgument,
             "{} can't be replaced by '{}', which depends on its outputs; to add nodes after it, use ReplaceUses",
             core::NodeLabel(old), replacements[i]->name());
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!is_used(outputs[i])) continue;
      // A value that replaced an earlier output may be that output now, so its handle is resolved again.
      core::ValueDef& value = state_->Resolve(values[i]);
      if (!Redirect(*state_, *outputs[i], value) && outputs[i]->IsOutput()) return;
    }
    CheckUnused(old);
    RemoveUnused(*state_, old);
  });
}

void GraphEditor::Remove(const GraphNode& node) {
  WithPublicErrors([&] {
    core::Node& target = state_->Resolve(node);
    CheckUnused(target);
    RemoveUnused(*state_, target);
  });
}

}  // namespace epiphyte
