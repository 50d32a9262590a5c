// InlineFunctions: replaces function calls by their bodies, and converts the nodes of the bodies to the graph's opset.
#include <onnx/defs/schema.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/onnx/functions/graph_calls.h"
#include "core/onnx/gradient/gradients.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/infer/proto_convert.h"
#include "core/onnx/microsoft/microsoft_functions.h"
#include "core/onnx/read/graph_reader.h"
#include "core/onnx/read/model_functions.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/printable_errors.h"

namespace epiphyte::core {
namespace {

// Limit for all functions together; ModelFunctions limits each function separately.
constexpr size_t kMaxInlinedNodes = size_t{1} << 22;

// Opset versions from which on the axes are an input.
int64_t AxesInputSince(const std::string& op_type) {
  if (op_type == "ReduceSum" || op_type == "Squeeze" || op_type == "Unsqueeze") return 13;
  return op_type.starts_with("Reduce") ? 18 : 0;
}

// The meaning of `axis` changed in opset 13, and the form of the node doesn't show which meaning applies.
bool ChangedItsMeaning(const Node& node) {
  return node.since_version() < 13 && (node.Is("Softmax") || node.Is("LogSoftmax") || node.Is("Hardmax"));
}

// Null when it isn't known.
const Shape* ShapeOf(const ValueDef* value) {
  return value != nullptr && value->type() && value->type()->shape() ? &*value->type()->shape() : nullptr;
}

// Whether a scale or bias is known not to have the shape that x has from the axis on.
bool DiffersFromRow(const Shape& x, int64_t axis, const Shape& parameter) {
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first > rank || rank - first != static_cast<int64_t>(parameter.size())) return true;
  for (size_t i = 0; i < parameter.size(); ++i) {
    const Dim& of_x = x[static_cast<size_t>(first) + i];
    if (of_x.known() && parameter[i].known() && of_x.value != parameter[i].value) return true;
  }
  return false;
}

// Whether ONNX's body for the operator computes this node. Two of its bodies hold for a part of the operator alone.
bool BodyComputes(const Node& node) {
  const auto input = [&](size_t i) { return i < node.inputs().size() ? node.inputs()[i] : nullptr; };
  if (!node.domain().empty() || input(0) == nullptr) return true;
  // It adds a constant of type float.
  if (node.Is("MeanVarianceNormalization")) {
    const TypePtr& type = input(0)->type();
    return !type || !type->IsTensor() || type->element_type() == DataType::kFloat;
  }
  // It flattens scale and bias to one row.
  if (node.Is("LayerNormalization")) {
    const Shape* const x = ShapeOf(input(0));
    for (size_t i = 1; i < 3; ++i) {
      const Shape* const parameter = ShapeOf(input(i));
      if (x != nullptr && parameter != nullptr && DiffersFromRow(*x, node.IntAttribute("axis", -1), *parameter))
        return false;
    }
  }
  return true;
}

void AdaptToOpset(Node& node, const Graph& target);

void AdaptToOpset(Graph& body, const Graph& target) {
  for (const auto& [domain, version] : target.opsets()) body.SetOpset(domain, version);
  for (const auto& node : body.nodes()) {
    if (node) AdaptToOpset(*node, target);
  }
}

// A function may be written for an older opset than the calling graph. Its nodes are converted to the graph's opset, so
// that the graph can be saved with one opset. Later versions mostly allow more element types and keep the form.
void AdaptToOpset(Node& node, const Graph& target) {
  for (Graph* body : node.subgraphs()) AdaptToOpset(*body, target);
  if (!node.domain().empty() || ChangedItsMeaning(node)) return;
  const int64_t wanted = SinceVersion("", node.op_type(), target.Opset(""));
  if (wanted <= node.since_version()) return;
  const int64_t axes_since = AxesInputSince(node.op_type());
  const Attribute* axes = node.FindAttribute("axes");
  if (axes != nullptr && axes_since > node.since_version() && axes_since <= wanted) {
    const std::vector<int64_t> numbers = axes->ints();
    ConstantPtr constant = Constant::Copy(DataType::kInt64, {static_cast<int64_t>(numbers.size())}, numbers.data(),
                                          numbers.size() * sizeof(int64_t));
    Graph& graph = node.graph();
    node.RemoveAttribute("axes");
    graph.ReplaceInput(&node, 1, graph.AddConstant(graph.FreshName(node.name() + "/axes"), std::move(constant)));
  }
  node.set_since_version(wanted);
}

// Whether a body contains operators that the graph's opset doesn't have, or has in another form.
bool NeedsALaterOpset(const onnx::FunctionProto& function, int64_t opset) {
  for (const onnx::OperatorSetIdProto& import : function.opset_import()) {
    if (!import.domain().empty() || import.version() <= opset) continue;
    for (const onnx::NodeProto& node : function.node()) {
      if (node.domain().empty() &&
          SinceVersion("", node.op_type(), import.version()) != SinceVersion("", node.op_type(), opset))
        return true;
    }
  }
  return false;
}

class Inliner {
 public:
  Inliner(Model& model, const std::function<bool(const Node&)>& keep, const OperatorSchemas* custom,
          const std::function<void(const Node&)>& inlined, size_t* nodes)
      : model_(model),
        keep_(keep),
        custom_(custom),
        tell_inlined_(inlined),
        functions_(ModelFunctions::Of(model)),
        inlined_(*nodes) {}

  enum class Depth { kOuter, kAll };

  bool Run(Depth depth) {
    std::vector<Node*> pending;
    CollectNodes(*model_.graph, &pending);
    bool changed = false;
    while (true) {
      std::vector<Node*> added;
      bool round_changed = false;
      for (Node* node : pending) round_changed |= InlineNode(node, &added);
      if (!round_changed) break;
      changed = true;
      model_.graph->Finalize();
      if (depth == Depth::kOuter) break;
      // Bodies that are built for a call depend on the types of its inputs.
      InferTypes(*model_.graph, {}, custom_);
      pending = std::move(waiting_);
      waiting_.clear();
      for (Node* node : added) CollectWithBodies(*node, &pending);
    }
    if (!waiting_.empty() && (depth == Depth::kAll || !changed)) {
      Fail(StatusCode::kNotImplemented,
           "{}: {} is not known, but its function needs it; export the model with the types and shapes of its values",
           NodeLabel(*waiting_.front()), missing_);
    }
    if (functions_ != nullptr && !HasCalls(*model_.graph)) model_.functions = nullptr;
    return changed;
  }

 private:
  void CollectNodes(Graph& graph, std::vector<Node*>* nodes) const {
    for (const auto& node : graph.nodes()) {
      if (node) CollectWithBodies(*node, nodes);
    }
  }

  // Graph attributes that move into the call's body are collected when the body exists.
  void CollectWithBodies(Node& node, std::vector<Node*>* nodes) const {
    const bool gives_graphs_away = !node.subgraphs().empty() && HasMicrosoftFunction(node) && !keep_(node);
    if (!gives_graphs_away) {
      for (Graph* body : node.subgraphs()) CollectNodes(*body, nodes);
    }
    nodes->push_back(&node);
  }

  bool InlineNode(Node* node, std::vector<Node*>* added) {
    if (functions_ != nullptr) {
      if (const FunctionBody* body = functions_->Find(node->domain(), node->op_type())) {
        if (keep_(*node)) return false;
        Replace(node, *body, functions_->tensors(), added);
        return true;
      }
    }
    if (HasMicrosoftFunction(*node)) return !keep_(*node) && InlineMicrosoftFunction(node, added);
    const OperatorSchema* schema = schemas_.Find(node->domain(), node->op_type(), node->since_version());
    if (schema == nullptr || schema->libonnx == nullptr) return false;
    const onnx::OpSchema& source = *schema->libonnx;
    if ((!source.HasFunction() && !source.HasContextDependentFunction()) || !BodyComputes(*node) || keep_(*node))
      return false;
    return InlineSchemaFunction(node, source, added);
  }

  // False when types are missing: the node waits for the next round.
  bool InlineMicrosoftFunction(Node* node, std::vector<Node*>* added) {
    const std::optional<std::string> function = BuildMicrosoftFunction(*node, &missing_);
    if (!function) {
      waiting_.push_back(node);
      return false;
    }
    const size_t before = added->size();
    Graph& graph = node->graph();
    Replace(node, ReadFunction(*function), TensorReader(nullptr, nullptr), added);
    // Makes the body's Constant nodes constants, so that providers that are asked about the body's nodes see constant
    // inputs.
    const auto fold = [&](Node* made) {
      if (!made->Is("Constant")) return false;
      ValueDef* value = made->output(0);
      const ConstantPtr constant = made->FindAttribute("value")->t();
      graph.RemoveNode(made);
      graph.SetConstant(value, constant);
      return true;
    };
    const auto first = added->begin() + static_cast<std::ptrdiff_t>(before);
    std::vector<Node*> made(first, added->end());
    added->resize(before);
    inlined_ += ReplaceGraphCalls(&made);
    made.erase(std::remove_if(made.begin(), made.end(), fold), made.end());
    added->insert(added->end(), made.begin(), made.end());
    return true;
  }

  // False when the schema's function builder can't express this node.
  bool InlineSchemaFunction(Node* node, const onnx::OpSchema& schema, std::vector<Node*>* added) {
    onnx::FunctionProto proto;
    if (schema.HasFunction()) {
      proto = *schema.GetFunction();
    } else {
      onnx::NodeProto node_proto;
      ToNodeProto(*node, &node_proto);
      std::vector<onnx::TypeProto> types(node->inputs().size());
      for (size_t i = 0; i < types.size(); ++i) {
        const ValueDef* input = node->inputs()[i];
        if (input != nullptr && input->type()) ToTypeProto(*input->type(), &types[i]);
      }
      try {
        if (!schema.BuildContextDependentFunction(onnx::FunctionBodyBuildContextImpl(node_proto, types), proto))
          return false;
      } catch (const std::exception& error) {
        Log(LogLevel::kDebug, "onnx", "{}: no function body: {}", NodeLabel(*node), error.what());
        return false;
      }
    }
    if (NeedsALaterOpset(proto, node->graph().Opset(""))) return false;
    const std::string bytes = proto.SerializeAsString();
    FunctionBody body = ReadFunction(bytes);
    body.sees_caller = true;
    if (body.opsets.empty()) body.opsets.emplace(schema.domain(), schema.since_version());
    std::vector<std::string> defaults;
    for (const auto& [name, rule] : schema.attributes()) {
      if (rule.required || rule.default_value.type() == onnx::AttributeProto::UNDEFINED) continue;
      onnx::AttributeProto value = rule.default_value;
      value.set_name(name);
      defaults.push_back(value.SerializeAsString());
    }
    body.defaults.insert(body.defaults.end(), defaults.begin(), defaults.end());
    Replace(node, body, TensorReader(nullptr, nullptr), added);
    return true;
  }

  void Replace(Node* node, const FunctionBody& body, const TensorReader& tensors, std::vector<Node*>* added) {
    if (tell_inlined_) tell_inlined_(*node);
    Graph& graph = node->graph();
    // The outputs keep their names and uses. The call gives them up, but its inputs and attributes are still needed.
    const std::vector<ValueDef*> outputs = node->outputs();
    const std::string prefix = BodyPrefix(*node);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != nullptr) graph.ReplaceOutput(node, i, graph.AddValue(graph.FreshName("unused")));
    }
    for (const auto& [domain, version] : body.opsets) {
      if (graph.Opset(domain) == 0) graph.SetOpset(domain, version);
      if (model_.graph->Opset(domain) == 0) model_.graph->SetOpset(domain, version);
    }
    GraphReader reader(tensors, body.opsets.empty() ? graph.opsets() : body.opsets, custom_);
    std::vector<Node*> nodes = reader.Inline(body, *node, outputs, prefix);
    graph.RemoveNode(node);
    inlined_ += nodes.size();
    if (inlined_ > kMaxInlinedNodes) {
      Fail(StatusCode::kInvalidGraph, "functions unfold to more than {} nodes; the model is damaged or malicious",
           kMaxInlinedNodes);
    }
    for (Node* added_node : nodes) AdaptToOpset(*added_node, graph);
    added->insert(added->end(), nodes.begin(), nodes.end());
  }

  bool HasCalls(const Graph& graph) const {
    for (const auto& node : graph.nodes()) {
      if (node == nullptr) continue;
      if (functions_->Find(node->domain(), node->op_type()) != nullptr) return true;
      for (const Graph* body : node->subgraphs()) {
        if (HasCalls(*body)) return true;
      }
    }
    return false;
  }

  Model& model_;
  const std::function<bool(const Node&)>& keep_;
  const OperatorSchemas* custom_;
  const std::function<void(const Node&)>& tell_inlined_;
  const ModelFunctions* functions_;
  SchemaTable schemas_;
  std::vector<Node*> waiting_;  // nodes that wait for types
  std::string missing_;         // missing information of the last waiting node
  size_t& inlined_;             // number of nodes that bodies added
};

}  // namespace

std::string BodyPrefix(const Node& call) {
  if (!call.name().empty()) return call.name() + "/";
  for (const ValueDef* output : call.outputs())
    if (output != nullptr) return output->name() + "/";
  return call.op_type() + "/";
}

bool InlineFunctions(Model& model, const std::function<bool(const Node&)>& keep, const OperatorSchemas* schemas,
                     const std::function<void(const Node&)>& inlined) {
  size_t nodes = 0;
  return WithPrintableErrors("", [&] {
    const bool changed = Inliner(model, keep, schemas, inlined, &nodes).Run(Inliner::Depth::kAll);
    if (changed) ExpandGradients(model, {}, schemas);
    return changed;
  });
}

bool InlineOuterFunctions(Model& model, const std::function<bool(const Node&)>& keep, const OperatorSchemas* schemas,
                          const std::function<void(const Node&)>& inlined, size_t* nodes) {
  return WithPrintableErrors("",
                             [&] { return Inliner(model, keep, schemas, inlined, nodes).Run(Inliner::Depth::kOuter); });
}

}  // namespace epiphyte::core
