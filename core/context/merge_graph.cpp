#include "core/context/merge_graph.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/context/context_model.h"

namespace epiphyte::core {
namespace {

void CollectNestedNames(const Graph& graph, std::unordered_set<std::string>* names) {
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    for (const Graph* body : node->subgraphs()) {
      for (const auto& value : body->values()) {
        if (value && !value->IsOuterScope()) names->insert(value->name());
      }
      CollectNestedNames(*body, names);
    }
  }
}

void CollectDomains(const Graph& graph, std::set<std::string>* domains) {
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    if (!IsContextNode(*node)) domains->insert(node->domain());
    for (const Graph* body : node->subgraphs()) CollectDomains(*body, domains);
  }
}

void SetOpsets(const std::map<std::string, int64_t>& opsets, Graph* graph) {
  for (const auto& [domain, version] : opsets) graph->SetOpset(domain, version);
  for (const auto& node : graph->nodes()) {
    if (!node) continue;
    for (Graph* body : node->subgraphs()) SetOpsets(opsets, body);
  }
}

class Joiner {
 public:
  Joiner(std::span<const MergeModel> models, std::span<const MergeConnection> connections, std::string name)
      : models_(models), connections_(connections), nested_(models.size()) {
    joined_.graph = std::make_unique<Graph>(std::move(name));
    for (size_t i = 0; i < models.size(); ++i) CollectNestedNames(*models[i].model.graph, &nested_[i]);
    for (const std::unordered_set<std::string>& names : nested_) all_nested_.insert(names.begin(), names.end());
    for (const MergeConnection& connection : connections) {
      connected_inputs_.insert(connection.input);
      used_outputs_.insert(connection.output);
    }
  }

  JoinedGraph Run() {
    const std::map<std::string, int64_t> opsets = MergeOpsets();
    for (size_t i = 0; i < models_.size(); ++i) AddValues(i);
    Connect();
    for (size_t i = 0; i < models_.size(); ++i) AddNodes(models_[i]);
    SetOutputs();
    for (const MergeModel& model : models_) AddAnnotations(model);
    SetOpsets(opsets, joined_.graph.get());
    try {
      joined_.graph->Finalize();
    } catch (const Error& error) {
      Fail(StatusCode::kInvalidGraph, "the connected models can't be put in order: {}", error.message());
    }
    return std::move(joined_);
  }

 private:
  // A domain used by the plain nodes of only one model has that model's version.
  std::map<std::string, int64_t> MergeOpsets() const {
    std::map<std::string, int64_t> opsets;
    std::map<std::string, const MergeModel*> users;
    for (const MergeModel& model : models_) {
      std::set<std::string> used;
      CollectDomains(*model.model.graph, &used);
      for (const auto& [domain, version] : model.model.graph->opsets()) {
        const auto [known, is_new] = opsets.emplace(domain, version);
        if (!used.contains(domain)) continue;
        const auto [user, is_first] = users.emplace(domain, &model);
        if (!is_first && known->second != version) {
          Fail(
              StatusCode::kInvalidGraph,
              "'{}' uses opset {} of domain '{}' for nodes that were not compiled, '{}' opset {}; export both with the "
              "same opset and compile them again",
              user->second->path.filename().string(), known->second, domain.empty() ? "ai.onnx" : domain,
              model.path.filename().string(), version);
        }
        known->second = version;
      }
    }
    return opsets;
  }

  // Whether the name is free in the joined graph and in all nested graphs, where it would hide the value.
  bool IsFree(const std::string& name) const {
    return joined_.graph->FindValue(name) == nullptr && !all_nested_.contains(name);
  }

  std::string NameFor(const ValueDef& value, size_t index) {
    bool is_free = joined_.graph->FindValue(value.name()) == nullptr;
    for (size_t other = 0; is_free && other < models_.size(); ++other) {
      is_free = other == index || !nested_[other].contains(value.name());
    }
    if (is_free) return value.name();
    const std::string stem = models_[index].stem + "_" + value.name();
    std::string name = stem;
    for (int i = 2; !IsFree(name); ++i) name = fmt::format("{}_{}", stem, i);
    NoteRenamed(models_[index], "value", value.name(), name);
    return name;
  }

  void NoteRenamed(const MergeModel& model, std::string_view what, std::string_view from, std::string_view to) {
    joined_.renamed.push_back(fmt::format("{}: {} '{}' is '{}'", model.path.filename().string(), what, from, to));
  }

  void AddValues(size_t index) {
    const Graph& graph = *models_[index].model.graph;
    // Inputs come first, in their order, which is the order of the joined graph's inputs.
    for (const ValueDef* input : graph.inputs()) {
      if (connected_inputs_.contains(input)) continue;
      ValueDef*& twin = twins_[input];
      if (input->default_value()) {
        twin = joined_.graph->AddOverridable(NameFor(*input, index), input->default_value());
        twin->set_type(input->type());
      } else {
        twin = joined_.graph->AddInput(NameFor(*input, index), input->type());
      }
    }
    for (const auto& value : graph.values()) {
      if (!value || value->IsInput()) continue;
      twins_[value.get()] = value->IsConstant() ? joined_.graph->AddConstant(NameFor(*value, index), value->constant())
                                                : joined_.graph->AddValue(NameFor(*value, index), value->type());
    }
  }

  void Connect() {
    for (const MergeConnection& connection : connections_) {
      ValueDef* twin = twins_.at(connection.output);
      twins_[connection.input] = twin;
      if (twin->IsConstant()) continue;
      const TypePtr merged = MergeTypes(twin->type(), connection.input->type());
      if (merged == nullptr) {
        Fail(StatusCode::kInvalidGraph,
             "output '{}' is connected to inputs whose types contradict each other; '{}' is {}",
             connection.output->name(), connection.input->name(), connection.input->type()->ToString());
      }
      twin->set_type(merged);
    }
  }

  void AddNodes(const MergeModel& model) {
    const auto twin_of = [this](ValueDef* value) { return value == nullptr ? nullptr : twins_.at(value); };
    for (const auto& node : model.model.graph->nodes()) {
      if (!node) continue;
      std::vector<ValueDef*> inputs, outputs;
      for (ValueDef* value : node->inputs()) inputs.push_back(twin_of(value));
      for (ValueDef* value : node->outputs()) outputs.push_back(twin_of(value));
      std::vector<Attribute> attributes;
      for (const auto& attribute : node->attributes()) attributes.push_back(attribute->Clone(twin_of));
      joined_.graph->AddNode(node->op_type(), node->domain(), node->since_version(), std::move(inputs),
                             std::move(outputs), std::move(attributes), NodeName(model, *node));
    }
  }

  std::string NodeName(const MergeModel& model, const Node& node) {
    if (node.name().empty() || node_names_.insert(node.name()).second) return node.name();
    const std::string stem = model.stem + "_" + node.name();
    std::string name = stem;
    for (int i = 2; !node_names_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    NoteRenamed(model, "node", node.name(), name);
    return name;
  }

  void AddAnnotations(const MergeModel& model) {
    const Graph& graph = *model.model.graph;
    const auto name_of = [&](const std::string& name) {
      const ValueDef* value = graph.FindValue(name);
      const auto twin = value == nullptr ? twins_.end() : twins_.find(value);
      return twin == twins_.end() ? name : twin->second->name();
    };
    AddRenamed(model.annotations, name_of, &joined_.annotations);
  }

  void SetOutputs() {
    std::vector<ValueDef*> outputs;
    for (const MergeModel& model : models_) {
      for (const ValueDef* output : model.model.graph->outputs()) {
        if (!used_outputs_.contains(output)) outputs.push_back(twins_.at(output));
      }
    }
    if (outputs.empty()) {
      Fail(StatusCode::kInvalidArgument,
           "every output is connected to an input, so nothing would come out of the model");
    }
    joined_.graph->SetOutputs(std::move(outputs));
  }

  std::span<const MergeModel> models_;
  std::span<const MergeConnection> connections_;
  std::vector<std::unordered_set<std::string>> nested_;  // names in nested graphs, one set for each model
  std::unordered_set<std::string> all_nested_;
  std::set<const ValueDef*> connected_inputs_;
  std::set<const ValueDef*> used_outputs_;
  std::unordered_map<const ValueDef*, ValueDef*> twins_;
  std::unordered_set<std::string> node_names_;
  JoinedGraph joined_;
};

}  // namespace

JoinedGraph JoinGraphs(std::span<const MergeModel> models, std::span<const MergeConnection> connections,
                       std::string name) {
  return Joiner(models, connections, std::move(name)).Run();
}

}  // namespace epiphyte::core
