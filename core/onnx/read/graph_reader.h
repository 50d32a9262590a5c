// GraphReader: reads a GraphProto into the IR.
//
// Names are resolved with ONNX's scoping rules: a nested graph sees the values of the graphs around it. Nodes may come
// in any order. The same code inlines the body of a function at a call: formal inputs and outputs stand for existing
// values, all other names get a prefix, and attributes may refer to attributes of the call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"
#include "core/onnx/read/tensor_reader.h"

namespace epiphyte::core {

class OperatorSchemas;

// A function's body and its interface, as views of the FunctionProto.
struct FunctionBody {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> nodes;     // NodeProto
  std::vector<std::string_view> defaults;  // AttributeProto: attributes with default values
  std::map<std::string, int64_t> opsets;
  // Names that the body doesn't define refer to the calling graph. This is so for bodies that libonnx builds around a
  // graph of the call.
  bool sees_caller = false;
};
FunctionBody ReadFunction(std::string_view function_proto);
// Adds an OperatorSetIdProto. INVALID_GRAPH for a version below 1 and for two versions of one domain.
void ReadOpset(std::string_view opset_proto, std::map<std::string, int64_t>* opsets);

class GraphReader {
 public:
  // `schemas` describes operators of other domains; may be null. `on_progress` is called while nodes are read. More
  // than `max_nodes` nodes are refused with FAIL.
  GraphReader(const TensorReader& tensors, std::map<std::string, int64_t> opsets,
              const OperatorSchemas* schemas = nullptr, ProgressCallback on_progress = {},
              uint64_t max_nodes = UINT64_MAX)
      : tensors_(tensors),
        opsets_(std::move(opsets)),
        schemas_(schemas),
        on_progress_(std::move(on_progress)),
        max_nodes_(max_nodes) {}

  // Makes initializers that are also inputs of the top-level graph overridable inputs instead of constants.
  void KeepOverridable() { keeps_overridable_ = true; }

  // Reads a whole graph. Throws INVALID_PROTOBUF and INVALID_GRAPH.
  std::unique_ptr<Graph> Read(std::string_view graph_proto);

  // Adds the body's nodes to the graph of `call`. They read the inputs of `call` and produce `outputs` (parallel to
  // body.outputs; null: not needed). The body's other names get `prefix` in front. Does not remove `call`. Returns the
  // new nodes.
  std::vector<Node*> Inline(const FunctionBody& body, const Node& call, const std::vector<ValueDef*>& outputs,
                            const std::string& prefix);

 private:
  struct Scope;
  struct NodeFields;

  void ReadInto(std::string_view graph_proto, Scope& scope);
  using TensorsByName = std::map<std::string, NamedTensor, std::less<>>;
  void AddInitializers(const std::vector<std::string_view>& dense, const std::vector<std::string_view>& sparse,
                       TensorsByName* overridable, Scope& scope);
  void AddInputs(const std::vector<std::string_view>& value_infos, TensorsByName overridable, Scope& scope);
  void DeclareOutputs(const std::vector<std::string_view>& nodes, Scope& scope);
  void SetDeclaredTypes(const std::vector<std::string_view>& value_infos, Scope& scope);
  void SetGraphOutputs(const std::vector<std::string_view>& value_infos, Scope& scope);
  Node* AddNode(std::string_view node_proto, Scope& scope);
  void AddNamedValues(const NodeFields& node, const std::vector<Attribute>& attributes, Scope& scope,
                      std::vector<ValueDef*>* inputs);
  std::vector<Attribute> ReadAttributes(const NodeFields& node, Scope& scope);
  std::unique_ptr<Graph> ReadSubgraph(std::string_view graph_proto, Scope& outer);
  int64_t VersionOf(const NodeFields& node, Scope& scope);
  int64_t ImportedVersion(const NodeFields& node, Scope& scope);

  const TensorReader& tensors_;
  std::map<std::string, int64_t> opsets_;
  const OperatorSchemas* schemas_;
  ProgressCallback on_progress_;
  uint64_t max_nodes_;
  bool keeps_overridable_ = false;
  uint64_t nodes_seen_ = 0;
  uint64_t nodes_read_ = 0;
  std::unordered_map<std::string, int64_t> versions_;  // operator → since version, for the default domain
};

// Appends the overload of a function call (IR version 10) to the operator's name, because the IR has no field for it:
// "Scale:half". Operators' names are identifiers, so the colon is unambiguous.
std::string QualifiedOpType(std::string_view op_type, std::string_view overload);

}  // namespace epiphyte::core
