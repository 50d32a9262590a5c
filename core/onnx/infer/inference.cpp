#include "core/onnx/infer/inference.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/onnx/infer/declared_types.h"
#include "core/onnx/infer/libonnx_inference.h"
#include "core/onnx/infer/loop_inference.h"
#include "core/onnx/infer/node_inference.h"
#include "core/onnx/infer/saved_types.h"
#include "core/onnx/infer/shape_origin.h"
#include "core/onnx/infer/value_data.h"
#include "core/onnx/microsoft/microsoft_functions.h"
#include "core/onnx/read/graph_reader.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/printable_errors.h"

namespace epiphyte::core {
namespace {

class TypeInferencer {
 public:
  TypeInferencer(const ProgressCallback& on_progress, const OperatorSchemas* custom, SchemaTable& schemas)
      : on_progress_(on_progress), custom_(custom), schemas_(schemas) {}

  void InferGraph(Graph& graph) {
    for (const auto& value : graph.values()) {
      if (value && value->outer() != nullptr) value->set_type(value->outer()->type());
    }
    for (Node* node : graph.TopologicalOrder()) {
      InferNode(*node);
      if (++nodes_done_ % kNodesPerReport == 0) ReportProgress(on_progress_, nodes_done_, 0, "inferring types");
    }
  }

  ValueData& data() { return data_; }
  const DeclaredTypes& declared() const { return declared_; }

  void InferNode(Node& node) {
    origin_.Visit(node);
    if (!node.Is("Scan")) {  // Scan's values have the same shapes in each iteration
      for (const Graph* body : node.subgraphs()) origin_.EnterBody(*body);
    }
    const OperatorSchema* schema = FindSchema(node);
    if (schema == nullptr) {
      for (Graph* body : node.subgraphs()) InferGraph(*body);
      return InferCustom(node);
    }
    CheckInputTypes(node, *schema);
    NodeInference inference(node, data_);
    const size_t bodies_before = bodies_inferred_;
    const InferBody infer_body = [this](Graph& body, const std::vector<TypePtr>& inputs) {
      return InferBodyGraph(body, inputs);
    };
    if (schema->infer != nullptr) {
      schema->infer(inference);
    } else if (node.Is("Loop")) {
      InferLoop(inference, infer_body);
    } else {
      InferWithLibonnx(inference, *schema, infer_body);
    }
    // Inference failed before it reached the nested graphs.
    if (bodies_inferred_ == bodies_before) {
      for (Graph* body : node.subgraphs()) InferGraph(*body);
    }
    TakeOutputs(node, inference);
    data_.Propagate(node);
  }

 private:
  void InferCustom(Node& node) {
    const CustomOperator* schema = FindCustomOperator(custom_, node.domain(), node.op_type(), node.since_version());
    if (schema == nullptr) return InferByBody(node);
    // A model-local function may have the name of an operator that `schemas` describes.
    if (!HasRightArity(node, *schema)) return;
    NodeInference inference(node, data_);
    schema->Infer(inference);
    TakeOutputs(node, inference);
  }

  // Infers through the operator's body in a separate graph that has the known input types. Errors are ignored here,
  // because a provider may support more of the operator than the body expresses. If no provider does, inlining reports
  // the error.
  void InferByBody(Node& node) {
    Graph graph(node.op_type());
    std::vector<ValueDef*> outputs;
    try {
      const std::optional<std::string> function = BuildMicrosoftFunction(node);
      if (!function) return;
      outputs = PutBodyInto(graph, node, *function);
      TypeInferencer(on_progress_, nullptr, schemas_).InferGraph(graph);
    } catch (const Error& error) {
      return Log(LogLevel::kDebug, "onnx", "{}: types not inferred: {}", NodeLabel(node), error.message());
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != nullptr && outputs[i]->type()) MergeOutput(node, i, outputs[i]->type());
  }

  // Adds the nodes of the body. Returns the values that correspond to the outputs of `node`.
  static std::vector<ValueDef*> PutBodyInto(Graph& graph, const Node& node, const std::string& function) {
    for (const auto& [domain, version] : node.graph().opsets()) graph.SetOpset(domain, version);
    std::vector<ValueDef*> inputs, outputs;
    for (const ValueDef* input : node.inputs()) {
      ValueDef*& copy = inputs.emplace_back(nullptr);
      if (input == nullptr) continue;
      const ConstantPtr& constant = input->ResolvedConstant();
      copy = constant ? graph.AddConstant("", constant) : graph.AddInput("", input->type());
    }
    for (const ValueDef* output : node.outputs()) outputs.push_back(output == nullptr ? nullptr : graph.AddValue(""));
    const FunctionBody body = ReadFunction(function);
    Node* call = graph.AddNode(node.op_type(), node.domain(), node.since_version(), inputs, {});
    const TensorReader tensors(nullptr, nullptr);
    GraphReader(tensors, body.opsets).Inline(body, *call, outputs, "");
    graph.RemoveNode(call);
    return outputs;
  }

  void TakeOutputs(const Node& node, const NodeInference& inference) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.outputs()[i] != nullptr && inference.output(i)) MergeOutput(node, i, inference.output(i));
    }
  }

  void MergeOutput(const Node& node, size_t index, const TypePtr& inferred) {
    ValueDef& value = *node.outputs()[index];
    declared_.Merge(node, value, inferred, origin_.DependsOnData(value));
  }

  std::vector<TypePtr> InferBodyGraph(Graph& body, const std::vector<TypePtr>& inputs) {
    ++bodies_inferred_;
    for (size_t i = 0; i < inputs.size() && i < body.inputs().size(); ++i) {
      if (inputs[i]) declared_.MergeBodyInput(*body.inputs()[i], inputs[i]);
    }
    InferGraph(body);
    std::vector<TypePtr> outputs;
    for (const ValueDef* output : body.outputs()) outputs.push_back(output->type());
    return outputs;
  }

  const OperatorSchema* FindSchema(const Node& node) {
    const Key key{&node.op_type(), &node.domain(), node.since_version()};
    if (key == last_key_) return last_schema_;
    last_key_ = key;
    last_schema_ = schemas_.Find(node.domain(), node.op_type(), node.since_version());
    return last_schema_;
  }

  struct Key {
    const std::string* op_type = nullptr;
    const std::string* domain = nullptr;
    int64_t version = 0;
    bool operator==(const Key&) const = default;
  };

  const ProgressCallback& on_progress_;
  const OperatorSchemas* custom_;
  uint64_t nodes_done_ = 0;
  SchemaTable& schemas_;
  ValueData data_;
  ShapeOrigin origin_;
  DeclaredTypes declared_;
  size_t bodies_inferred_ = 0;
  Key last_key_;
  const OperatorSchema* last_schema_ = nullptr;
};

}  // namespace

void InferTypes(Graph& graph, const ProgressCallback& on_progress, const OperatorSchemas* schemas) {
  WithPrintableErrors("", [&] {
    SchemaTable table;
    TypeInferencer inferencer(on_progress, schemas, table);
    inferencer.InferGraph(graph);
    inferencer.declared().Report();
  });
}

void InferDeclaredTypes(Graph& graph, const ProgressCallback& on_progress, const OperatorSchemas* schemas) {
  std::vector<ValueDef*> scalars;
  for (ValueDef* input : graph.inputs()) {
    const TypePtr& type = input->type();
    if (type && type->IsTensor() && type->shape() && type->shape()->empty() && !input->default_value())
      scalars.push_back(input);
  }
  if (scalars.empty()) return InferTypes(graph, on_progress, schemas);
  const SavedTypes declared(graph);
  const auto infer = [&]() -> std::optional<Error> {
    try {
      InferTypes(graph, on_progress, schemas);
      return std::nullopt;
    } catch (const Error& error) {
      if (error.code() != StatusCode::kInvalidGraph) throw;
      return error;
    }
  };
  const std::optional<Error> contradiction = infer();
  if (!contradiction) return;
  declared.Restore();
  for (ValueDef* input : scalars) input->set_type(WithoutShape(input->type()));
  if (infer()) throw *contradiction;
  std::string names;
  for (const ValueDef* input : scalars) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", input->name());
  Log(LogLevel::kWarning, "onnx",
      "the model declares its inputs {} as scalars, but can't use them as such, so tensors of any shape are taken: {}",
      names, contradiction->message());
}

struct RunningInference::State {
  ProgressCallback on_progress;
  SchemaTable table;
  TypeInferencer inferencer;

  State(const ProgressCallback& beats, const OperatorSchemas* schemas)
      : on_progress(beats), inferencer(on_progress, schemas, table) {}
};

RunningInference::RunningInference(Graph& graph, const ProgressCallback& on_progress, const OperatorSchemas* schemas)
    : state_(std::make_unique<State>(on_progress, schemas)) {
  state_->inferencer.InferGraph(graph);
}

RunningInference::~RunningInference() = default;

void RunningInference::Infer(Node& node) { state_->inferencer.InferNode(node); }

std::optional<std::vector<int64_t>> RunningInference::Ints(const ValueDef* value) {
  return state_->inferencer.data().FindInts(value);
}

}  // namespace epiphyte::core
