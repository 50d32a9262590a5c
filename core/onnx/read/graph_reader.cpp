#include "core/onnx/read/graph_reader.h"

#include <algorithm>
#include <functional>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/graph/context_node.h"
#include "core/onnx/microsoft/body.h"
#include "core/onnx/microsoft/microsoft_functions.h"
#include "core/onnx/read/attribute_reader.h"
#include "core/onnx/read/type_reader.h"
#include "core/onnx/schema/known_operators.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {

namespace {

// Attributes are searched linearly. No operator has more than this many.
constexpr size_t kMaxAttributes = 1024;

// Allows lookups by string_view without creating a string.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace

// One level of name lookup. The scope of a function's body, or of a graph nested in one, uses `names`, which maps names
// in the file to IR values. In other scopes values keep their names from the file.
struct GraphReader::Scope {
  Graph* graph = nullptr;
  Scope* parent = nullptr;
  int depth = 1;
  const Node* call = nullptr;  // the call that a function's body replaces
  const FunctionBody* body = nullptr;
  std::string prefix;
  std::unordered_map<std::string, ValueDef*, StringHash, std::equal_to<>> names;

  bool IsRenaming() const { return body != nullptr; }

  // The IR's name for a value that this scope defines. It is unique in all enclosing scopes, so that a reference from a
  // nested graph can't resolve to the wrong value.
  std::string NameFor(std::string_view name) const {
    if (!IsRenaming()) return std::string(name);
    std::string unique = prefix + std::string(name);
    for (const Scope* scope = this; scope != nullptr;) {
      const bool taken = scope->graph->FindValue(unique) != nullptr;
      if (taken) unique = scope->graph->FreshName(unique);
      scope = taken ? this : scope->parent;
    }
    return unique;
  }

  void Declare(std::string_view name, ValueDef* value) {
    if (IsRenaming()) names.emplace(std::string(name), value);
  }

  bool Defines(std::string_view name) const {
    return IsRenaming() ? names.contains(name) : graph->FindValue(name) != nullptr;
  }

  // Null when there is no such value. `found` is true when the name is a function input that the call omits.
  ValueDef* Find(std::string_view name, bool* found) {
    if (IsRenaming()) {
      const auto known = names.find(name);
      if (known != names.end()) {
        *found = true;
        return known->second;
      }
    } else if (ValueDef* value = graph->FindValue(name)) {
      *found = true;
      return value;
    }
    if (parent == nullptr) {
      // Bodies that libonnx builds may contain graphs of the call, which use names of the calling graph.
      ValueDef* value = body != nullptr && body->sees_caller ? graph->FindValue(name) : nullptr;
      *found = value != nullptr;
      return value;
    }
    ValueDef* outer = parent->Find(name, found);
    return outer == nullptr ? nullptr : graph->AddOuterScope(outer);
  }

  // Makes a value of the calling graph available in this scope.
  ValueDef* Import(ValueDef* value) {
    return graph == &call->graph() ? value : graph->AddOuterScope(parent->Import(value));
  }
};

struct GraphReader::NodeFields {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;

  explicit NodeFields(std::string_view bytes) {
    WireReader reader(bytes, "NodeProto");
    for (WireField field; reader.Next(&field);) {
      switch (field.number) {
        case proto::node::kInput: inputs.push_back(field.Bytes()); break;
        case proto::node::kOutput: outputs.push_back(field.Bytes()); break;
        case proto::node::kName: name = field.Bytes(); break;
        case proto::node::kOpType: op_type = field.Bytes(); break;
        case proto::node::kAttribute: attributes.push_back(field.Bytes()); break;
        case proto::node::kDomain: domain = NormalDomain(field.Bytes()); break;
        case proto::node::kOverload: overload = field.Bytes(); break;
        default: break;
      }
    }
  }

  std::string Label() const {
    if (!name.empty()) return fmt::format("{} node '{}'", op_type, name);
    for (const std::string_view output : outputs) {
      if (!output.empty()) return fmt::format("{} node that makes '{}'", op_type, output);
    }
    return fmt::format("{} node without a name", op_type);
  }
};

std::string QualifiedOpType(std::string_view op_type, std::string_view overload) {
  return overload.empty() ? std::string(op_type) : fmt::format("{}:{}", op_type, overload);
}

std::unique_ptr<Graph> GraphReader::Read(std::string_view graph_proto) {
  auto graph = std::make_unique<Graph>("");
  Scope scope;
  scope.graph = graph.get();
  ReadInto(graph_proto, scope);
  return graph;
}

std::unique_ptr<Graph> GraphReader::ReadSubgraph(std::string_view graph_proto, Scope& outer) {
  if (outer.depth >= kMaxNesting) {
    Fail(StatusCode::kInvalidGraph, "graphs are nested more than {} levels deep", kMaxNesting);
  }
  auto graph = std::make_unique<Graph>("");
  Scope scope;
  scope.graph = graph.get();
  scope.parent = &outer;
  scope.depth = outer.depth + 1;
  scope.body = outer.body;
  scope.call = outer.call;
  scope.prefix = outer.prefix;
  ReadInto(graph_proto, scope);
  return graph;
}

void GraphReader::ReadInto(std::string_view graph_proto, Scope& scope) {
  std::vector<std::string_view> nodes, dense, sparse, inputs, outputs, value_infos;
  WireReader reader(graph_proto, "GraphProto");
  for (WireField field; reader.Next(&field);) {
    switch (field.number) {
      case proto::graph::kNode: nodes.push_back(field.Bytes()); break;
      case proto::graph::kName: scope.graph->set_name(std::string(field.Bytes())); break;
      case proto::graph::kInitializer: dense.push_back(field.Bytes()); break;
      case proto::graph::kSparseInitializer: sparse.push_back(field.Bytes()); break;
      case proto::graph::kInput: inputs.push_back(field.Bytes()); break;
      case proto::graph::kOutput: outputs.push_back(field.Bytes()); break;
      case proto::graph::kValueInfo: value_infos.push_back(field.Bytes()); break;
      default: break;
    }
  }
  nodes_seen_ += nodes.size();
  if (nodes_seen_ > max_nodes_) {
    Fail(StatusCode::kFail,
         "the model has {} nodes or more, session.max_nodes allows {}; use a machine with more memory, or set the "
         "option higher",
         nodes_seen_, max_nodes_);
  }
  for (const auto& [domain, version] : opsets_) scope.graph->SetOpset(domain, version);
  TensorsByName overridable;
  if (keeps_overridable_ && scope.parent == nullptr) {
    for (const std::string_view input : inputs) overridable.try_emplace(std::string(ReadValueInfo(input).name));
  }
  AddInitializers(dense, sparse, &overridable, scope);
  AddInputs(inputs, std::move(overridable), scope);
  DeclareOutputs(nodes, scope);
  SetDeclaredTypes(value_infos, scope);
  for (const std::string_view node : nodes) {
    AddNode(node, scope);
    if (++nodes_read_ % kNodesPerReport == 0) ReportProgress(on_progress_, nodes_read_, 0, "reading nodes");
  }
  SetGraphOutputs(outputs, scope);
}

// Initializers with an entry in `overridable` are stored there instead.
void GraphReader::AddInitializers(const std::vector<std::string_view>& dense,
                                  const std::vector<std::string_view>& sparse, TensorsByName* overridable,
                                  Scope& scope) {
  const auto add = [&](NamedTensor tensor) {
    if (tensor.name.empty()) {
      Fail(StatusCode::kInvalidGraph, "graph '{}' has an initializer without a name", scope.graph->name());
    }
    const auto input = overridable->find(tensor.name);
    const bool is_input = input != overridable->end();
    if (scope.Defines(tensor.name) || (is_input && input->second.constant != nullptr)) {
      Fail(StatusCode::kInvalidGraph, "initializer '{}' is defined twice in graph '{}'; names must be unique",
           tensor.name, scope.graph->name());
    }
    if (is_input) {
      input->second = std::move(tensor);
      return;
    }
    ValueDef* value = scope.graph->AddConstant(scope.NameFor(tensor.name), std::move(tensor.constant));
    value->external = std::move(tensor.external);
    scope.Declare(tensor.name, value);
  };
  for (const std::string_view tensor : dense) add(tensors_.Read(tensor, "initializer"));
  for (const std::string_view tensor : sparse) add(tensors_.ReadSparse(tensor, "sparse initializer"));
}

namespace {

// The type of an input that is also an initializer. The initializer's shape is used when the declared one differs.
TypePtr TypeOfInitializedInput(const ValueInfo& info, const TypePtr& initializer) {
  if (!info.type || info.type->kind() == EP_KIND_UNKNOWN) return initializer;
  if (MergeTypes(initializer, info.type)) return info.type;
  if (!MergeTypes(WithoutShape(initializer), WithoutShape(info.type))) {
    Fail(StatusCode::kInvalidGraph, "input '{}' is declared as {}, but its initializer is {}", info.name,
         info.type->ToString(), initializer->ToString());
  }
  Log(LogLevel::kWarning, "onnx", "input '{}' is declared as {}, but its initializer is {}; the declaration is ignored",
      info.name, info.type->ToString(), initializer->ToString());
  return initializer;
}

}  // namespace

void GraphReader::AddInputs(const std::vector<std::string_view>& value_infos, TensorsByName overridable, Scope& scope) {
  for (const std::string_view bytes : value_infos) {
    ValueInfo info = ReadValueInfo(bytes);
    if (info.name.empty())
      Fail(StatusCode::kInvalidGraph, "graph '{}' has an input without a name", scope.graph->name());
    if (scope.Defines(info.name)) {
      bool found = false;
      const ValueDef* value = scope.Find(info.name, &found);
      // The value stays a constant, because no run supplies it.
      if (value != nullptr && value->IsConstant()) {
        TypeOfInitializedInput(info, value->type());
        continue;
      }
      Fail(StatusCode::kInvalidGraph, "input '{}' is defined twice in graph '{}'; names must be unique", info.name,
           scope.graph->name());
    }
    const auto initializer = overridable.find(info.name);
    if (initializer != overridable.end() && initializer->second.constant != nullptr) {
      NamedTensor& tensor = initializer->second;
      ValueDef* value = scope.graph->AddOverridable(tensor.name, std::move(tensor.constant));
      value->external = std::move(tensor.external);
      value->set_type(TypeOfInitializedInput(info, value->type()));
      continue;
    }
    scope.Declare(info.name, scope.graph->AddInput(scope.NameFor(info.name), std::move(info.type)));
  }
}

void GraphReader::DeclareOutputs(const std::vector<std::string_view>& nodes, Scope& scope) {
  for (const std::string_view bytes : nodes) {
    WireReader reader(bytes, "NodeProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number != proto::node::kOutput || field.Bytes().empty()) continue;
      const std::string_view name = field.Bytes();
      if (scope.Defines(name)) {
        Fail(StatusCode::kInvalidGraph, "{} makes '{}', which graph '{}' defines already; names must be unique",
             NodeFields(bytes).Label(), name, scope.graph->name());
      }
      scope.Declare(name, scope.graph->AddValue(scope.NameFor(name)));
    }
  }
}

void GraphReader::SetDeclaredTypes(const std::vector<std::string_view>& value_infos, Scope& scope) {
  for (const std::string_view bytes : value_infos) {
    ValueInfo info = ReadValueInfo(bytes);
    if (!info.type || info.type->kind() == EP_KIND_UNKNOWN || !scope.Defines(info.name)) continue;
    bool found = false;
    ValueDef* value = scope.Find(info.name, &found);
    if (value != nullptr && !value->IsConstant() && !value->IsInput()) value->set_type(std::move(info.type));
  }
}

void GraphReader::SetGraphOutputs(const std::vector<std::string_view>& value_infos, Scope& scope) {
  std::vector<ValueDef*> outputs;
  for (const std::string_view bytes : value_infos) {
    ValueInfo info = ReadValueInfo(bytes);
    bool found = false;
    ValueDef* value = info.name.empty() ? nullptr : scope.Find(info.name, &found);
    if (value == nullptr) {
      Fail(StatusCode::kInvalidGraph, "output '{}' of graph '{}' is made by no node, input or initializer", info.name,
           scope.graph->name());
    }
    if (info.type && info.type->kind() != EP_KIND_UNKNOWN) {
      TypePtr merged = MergeTypes(value->type(), info.type);
      if (!merged && value->type()->element_type() != info.type->element_type()) {
        Fail(StatusCode::kInvalidGraph, "output '{}' is declared as {} and as {}", info.name, value->type()->ToString(),
             info.type->ToString());
      }
      if (merged && !value->IsConstant()) value->set_type(std::move(merged));
    }
    outputs.push_back(value);
  }
  scope.graph->SetOutputs(std::move(outputs));
}

Node* GraphReader::AddNode(std::string_view node_proto, Scope& scope) {
  const NodeFields fields(node_proto);
  if (fields.op_type.empty()) {
    Fail(StatusCode::kInvalidGraph, "a node{} has no operator; the model is damaged", fields.Label());
  }
  std::vector<ValueDef*> inputs, outputs;
  inputs.reserve(fields.inputs.size());
  outputs.reserve(fields.outputs.size());
  for (const std::string_view name : fields.inputs) {
    bool found = name.empty();
    inputs.push_back(found ? nullptr : scope.Find(name, &found));
    if (found) continue;
    Fail(StatusCode::kInvalidGraph, "{}: input '{}' is made by no node, input or initializer of graph '{}'",
         fields.Label(), name, scope.graph->name());
  }
  for (const std::string_view name : fields.outputs) {
    bool found = false;
    outputs.push_back(name.empty() ? nullptr : scope.Find(name, &found));
  }
  std::vector<Attribute> attributes = ReadAttributes(fields, scope);
  if (fields.op_type == "Gradient" && fields.domain == kPreviewTrainingDomain)
    AddNamedValues(fields, attributes, scope, &inputs);
  // An EPContext node without a name stands for the only graph of its payload, inside functions too.
  const bool is_nameless_context = fields.name.empty() && fields.op_type == "EPContext";
  std::string name = is_nameless_context ? std::string() : scope.prefix + std::string(fields.name);
  return scope.graph->AddNode(QualifiedOpType(fields.op_type, fields.overload), fields.domain, VersionOf(fields, scope),
                              std::move(inputs), std::move(outputs), std::move(attributes), std::move(name));
}

// Adds the values that a Gradient node names as inputs; see gradients.h.
void GraphReader::AddNamedValues(const NodeFields& node, const std::vector<Attribute>& attributes, Scope& scope,
                                 std::vector<ValueDef*>* inputs) {
  std::vector<std::string> names;
  for (const std::string_view which : {"xs", "zs", "y"}) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const Attribute& attribute) { return attribute.name() == which; });
    if (found != attributes.end()) names.insert(names.end(), found->strings().begin(), found->strings().end());
    const bool is_one = which != "y" || (found != attributes.end() && found->strings().size() == 1);
    if (!is_one) Fail(StatusCode::kInvalidGraph, "{}: its attribute 'y' has to name a value", node.Label());
    if (which == "zs" && (names.empty() || names.size() != inputs->size() ||
                          std::find(inputs->begin(), inputs->end(), nullptr) != inputs->end())) {
      Fail(StatusCode::kInvalidGraph,
           "{} has {} inputs, but its attributes 'xs' and 'zs' name {}; one for each expected", node.Label(),
           inputs->size(), names.size());
    }
  }
  for (const std::string& name : names) {
    bool found = false;
    ValueDef* value = scope.Find(name, &found);
    if (value == nullptr) {
      Fail(StatusCode::kInvalidGraph,
           "{}: '{}' of its attributes is made by no node, input or initializer of graph '{}'", node.Label(), name,
           scope.graph->name());
    }
    inputs->push_back(value);
  }
}

std::vector<Attribute> GraphReader::ReadAttributes(const NodeFields& node, Scope& scope) {
  std::vector<Attribute> attributes;
  if (node.attributes.size() > kMaxAttributes) {
    Fail(StatusCode::kInvalidGraph, "{} has {} attributes, at most {} expected", node.Label(), node.attributes.size(),
         kMaxAttributes);
  }
  attributes.reserve(node.attributes.size());
  const bool is_ep_context = node.op_type == kContextOp && node.domain == kContextDomain;
  const auto read_graph = [&](std::string_view bytes) { return ReadSubgraph(bytes, scope); };
  const auto read = [&](std::string_view bytes) {
    return ReadAttribute(bytes, node.Label(), is_ep_context, tensors_, read_graph);
  };
  const auto add = [&](Attribute attribute) {
    for (const Attribute& other : attributes) {
      if (other.name() == attribute.name()) {
        Fail(StatusCode::kInvalidGraph, "{} has the attribute '{}' twice", node.Label(), other.name());
      }
    }
    attributes.push_back(std::move(attribute));
  };
  for (const std::string_view bytes : node.attributes) {
    const AttributeHead head = ReadAttributeHead(bytes);
    if (head.reference.empty()) {
      Attribute attribute = read(bytes);
      // The reader converted the sparse tensor to a dense one.
      const bool was_sparse = attribute.name() == "sparse_value" && node.op_type == "Constant" && node.domain.empty();
      add(was_sparse ? RenamedAttribute(attribute, "value", {}) : std::move(attribute));
      continue;
    }
    if (!scope.IsRenaming()) {
      Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' refers to '{}' of a function, but is in no function",
           node.Label(), head.name, head.reference);
    }
    if (const Attribute* given = scope.call->FindAttribute(head.reference)) {
      add(RenamedAttribute(*given, std::string(head.name), [&](ValueDef* value) { return scope.Import(value); }));
      continue;
    }
    // The call omits the attribute. Use the function's default value; without one the node has no such attribute.
    for (const std::string_view fallback : scope.body->defaults) {
      if (ReadAttributeHead(fallback).name != head.reference) continue;
      add(RenamedAttribute(read(fallback), std::string(head.name), {}));
      break;
    }
  }
  return attributes;
}

// The opset of the node's domain. A missing import means version 1, because optimizers omit the import of
// com.microsoft.
int64_t GraphReader::ImportedVersion(const NodeFields& node, Scope& scope) {
  const std::string domain(node.domain);
  const auto import = opsets_.find(domain);
  if (import != opsets_.end()) return import->second;
  if (domain.empty()) {
    Fail(StatusCode::kInvalidGraph,
         "{} is of ai.onnx, and opset_import doesn't say of which opset; add it, or export the model again",
         node.Label());
  }
  if (domain != microsoft::kGraphCallDomain) {
    Log(LogLevel::kWarning, "onnx", "{} is of the domain '{}', which opset_import leaves out; version 1 is taken",
        node.Label(), domain);
  }
  opsets_.emplace(domain, 1);
  for (Scope* around = &scope; around != nullptr; around = around->parent) around->graph->SetOpset(domain, 1);
  return 1;
}

int64_t GraphReader::VersionOf(const NodeFields& node, Scope& scope) {
  const int64_t opset = ImportedVersion(node, scope);
  if (MaxOpset(node.domain) == 0) {
    const CustomOperator* schema = FindCustomOperator(schemas_, node.domain, node.op_type, opset);
    return schema == nullptr ? opset : schema->since_version;
  }
  if (!node.domain.empty()) return VersionInModel(node.domain, node.op_type, opset);
  const auto [known, is_new] = versions_.try_emplace(std::string(node.op_type), 0);
  if (!is_new) return known->second;
  known->second = VersionInModel(node.domain, node.op_type, opset);
  // An early operator is another one than the later operator of its name.
  if (known->second > opset && IsEarlyOperator(node.domain, node.op_type, opset)) known->second = 0;
  if (known->second > opset) {
    Log(LogLevel::kWarning, "onnx",
        "{} is an operator of opset {} and later, but the model is of opset {}; it is taken as opset {} has it",
        node.op_type, known->second, opset, known->second);
  }
  return known->second;
}

std::vector<Node*> GraphReader::Inline(const FunctionBody& body, const Node& call,
                                       const std::vector<ValueDef*>& outputs, const std::string& prefix) {
  Scope scope;
  scope.graph = &call.graph();
  scope.call = &call;
  scope.body = &body;
  scope.prefix = prefix;
  if (call.inputs().size() > body.inputs.size() || call.outputs().size() > body.outputs.size()) {
    Fail(StatusCode::kInvalidGraph, "{} has {} inputs and {} outputs, its function at most {} and {}", NodeLabel(call),
         call.inputs().size(), call.outputs().size(), body.inputs.size(), body.outputs.size());
  }
  for (size_t i = 0; i < body.inputs.size(); ++i) scope.names.emplace(std::string(body.inputs[i]), call.input(i));
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    if (i >= outputs.size() || outputs[i] == nullptr) continue;
    if (!scope.names.emplace(std::string(body.outputs[i]), outputs[i]).second) {
      // The function returns one of its inputs unchanged.
      ValueDef* input = scope.names.find(body.outputs[i])->second;
      if (input == nullptr) continue;
      scope.graph->AddNode("Identity", "", SinceVersion("", "Identity", std::max<int64_t>(scope.graph->Opset(""), 1)),
                           {input}, {outputs[i]}, {}, scope.prefix + "identity");
    }
  }
  for (const std::string_view bytes : body.nodes) {
    const NodeFields fields(bytes);
    for (const std::string_view name : fields.outputs) {
      if (name.empty()) continue;
      const auto known = scope.names.find(name);
      if (known == scope.names.end()) {
        scope.names.emplace(std::string(name), scope.graph->AddValue(scope.NameFor(name)));
      } else if (known->second == nullptr || known->second->producer() != nullptr) {
        Fail(StatusCode::kInvalidGraph, "function '{}' of domain '{}' defines '{}' twice", body.name, body.domain,
             name);
      }
    }
  }
  std::vector<Node*> nodes;
  for (const std::string_view bytes : body.nodes) nodes.push_back(AddNode(bytes, scope));
  for (const ValueDef* output : outputs) {
    if (output == nullptr || output->producer() != nullptr) continue;
    Fail(StatusCode::kInvalidGraph, "function '{}' of domain '{}' does not make its output for '{}'", body.name,
         body.domain, output->name());
  }
  return nodes;
}

}  // namespace epiphyte::core
