#include "core/transform/application_transforms.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/text.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/infer/operator_check.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/onnx/schema/schema.h"
#include "core/transform/invalidated_types.h"
#include "core/transform/rules/rules.h"
#include "core/transform/transform.h"

namespace epiphyte::core {
namespace {

std::vector<std::string> NamesOf(const std::vector<ValueDef*>& values) {
  std::vector<std::string> names;
  for (const ValueDef* value : values) names.push_back(value->name());
  return names;
}

bool HasSource(const ValueDef& value) {
  return value.producer() != nullptr || value.IsInput() || value.IsConstant() || value.IsOuterScope();
}

void CheckSources(const Graph& graph) {
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (const std::vector<ValueDef*>* inputs : {&node->inputs(), &node->implicit_inputs()}) {
      for (const ValueDef* value : *inputs) {
        if (value == nullptr || HasSource(*value)) continue;
        Fail(StatusCode::kInvalidGraph,
             "{} reads '{}', which no node produces; add its producer, an input or a constant", NodeLabel(*node),
             value->name());
      }
    }
    for (const Graph* body : node->subgraphs()) CheckSources(*body);
  }
  for (const ValueDef* output : graph.outputs()) {
    if (HasSource(*output)) continue;
    Fail(StatusCode::kInvalidGraph, "output '{}' of graph '{}' has no producer; add one", output->name(), graph.name());
  }
}

struct Interface {
  explicit Interface(const Graph& graph) : inputs(NamesOf(graph.inputs())), outputs(NamesOf(graph.outputs())) {}

  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

void CheckInterface(const Graph& graph, const Interface& before) {
  const Interface now(graph);
  if (now.inputs == before.inputs && now.outputs == before.outputs) return;
  Fail(StatusCode::kInvalidGraph,
       "the model now has the inputs ({}) and outputs ({}), expected ({}) and ({}); keep them",
       fmt::join(now.inputs, ", "), fmt::join(now.outputs, ", "), fmt::join(before.inputs, ", "),
       fmt::join(before.outputs, ", "));
}

void RemoveDeadNodes(Graph& graph, const ProgressCallback& on_progress, NodeHistory* history) {
  TransformPipeline pipeline;
  pipeline.Add(MakeRemoveDeadNodes());
  TransformContext context;
  context.on_progress = on_progress;
  context.history = history;
  pipeline.Run(graph, TransformLevel::kBasic, context);
}

// Sets the version of each node of a provider's domain to the since-version of its schema, as for a model that is read.
// The transform gave it the opset version of the domain.
void SetCustomVersions(Graph& graph, const OperatorSchemas* schemas) {
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    for (Graph* body : node->subgraphs()) SetCustomVersions(*body, schemas);
    const CustomOperator* schema = FindCustomOperator(schemas, node->domain(), node->op_type(), node->since_version());
    if (schema != nullptr) node->set_since_version(schema->since_version);
  }
}

using ChangedNodes = std::unordered_set<const Node*>;

bool ApplyEverywhere(ApplicationTransform& transform, Graph& graph, const ProgressCallback& on_progress,
                     NodeHistory* history, ChangedNodes* changed) {
  NodesBefore before(graph, history);
  const GraphChanges changes = transform.Apply(graph, on_progress);
  before.TellRemoved(graph, transform.name());
  changed->insert(changes.nodes.begin(), changes.nodes.end());
  bool any = changes.any;
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (Graph* body : node->subgraphs()) any |= ApplyEverywhere(transform, *body, on_progress, history, changed);
  }
  return any;
}

// Prefixes every exception from `body` with `label`. Cancellations pass unchanged, because they are no fault of the
// transform.
template <typename Body>
void Naming(std::string_view label, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == StatusCode::kModelLoadCanceled) throw;
    throw error.WithMessage(PrintableLine(fmt::format("{}: {}", label, error.message())));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    Fail(StatusCode::kFail, "{} threw an exception: {}", PrintableLine(label), PrintableLine(ReasonOf(error)));
  } catch (...) {
    Fail(StatusCode::kFail, "{} threw something that is no std::exception", PrintableLine(label));
  }
}

void Check(Model& model, const Interface& before, const ChangedNodes& changed, const ProgressCallback& on_progress,
           NodeHistory* history, const OperatorSchemas* schemas) {
  Graph& graph = *model.graph;
  CheckSources(graph);
  RemoveDeadNodes(graph, on_progress, history);
  CheckInterface(graph, before);
  CheckOperators(model, on_progress, schemas);
  SetCustomVersions(graph, schemas);
  const InvalidatedTypes invalidated(graph, changed, schemas);
  InferTypes(graph, on_progress, schemas);
  invalidated.Restore();
}

}  // namespace

std::vector<std::string> RunApplicationTransforms(Model& model,
                                                  std::span<const std::shared_ptr<ApplicationTransform>> transforms,
                                                  const ProgressCallback& on_progress, NodeHistory* history,
                                                  const OperatorSchemas* schemas) {
  std::vector<std::string> names;
  for (const std::shared_ptr<ApplicationTransform>& transform : transforms) {
    ReportProgress(on_progress, names.size(), 0, transform->name());
    const Interface before(*model.graph);
    ChangedNodes changed;
    bool any = false;
    Naming(transform->label(),
           [&] { any = ApplyEverywhere(*transform, *model.graph, on_progress, history, &changed); });
    if (!any) continue;
    Naming(fmt::format("what {} made of the model can't be used", transform->label()),
           [&] { Check(model, before, changed, on_progress, history, schemas); });
    names.push_back(transform->name());
  }
  return names;
}

}  // namespace epiphyte::core
