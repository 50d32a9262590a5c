// Operator schemas: libonnx's, and on top of them the core's overlay: operators and versions that the installed libonnx
// doesn't know, and inference functions of our own.
//
//   SchemaTable schemas;
//   const OperatorSchema* relu = schemas.Find("", "Relu", 22);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/onnx/overlay.h"

namespace onnx {
class OpSchema;
}

namespace epiphyte::core {

inline constexpr int64_t kMaxOnnxOpset = 26;
inline constexpr std::string_view kPreviewTrainingDomain = "ai.onnx.preview.training";

// "" for the two spellings of ai.onnx.
std::string_view NormalDomain(std::string_view domain);
// The newest opset of a domain whose operators the core knows; 0 for any other domain. Models of newer ones are read,
// as far as their operators are those of this one.
int64_t MaxOpset(std::string_view domain);

class CustomOperator;

struct OperatorSchema {
  // Types that an input or output may have. Parameters with the same `variable` have the same type.
  struct Parameter {
    std::string name;
    int variable = -1;
    uint64_t element_types = 0;  // bit n: tensors of DataType n
    bool only_tensors = true;    // false: other kinds are allowed too and not looked at
  };

  std::string domain;
  std::string op_type;
  int64_t since_version = 0;
  // libonnx knows this very version, so type constraints and errors of its inference are to be believed.
  bool exact = false;
  bool deprecated = false;
  uint32_t min_inputs = 0;
  uint32_t max_inputs = UINT32_MAX;
  uint32_t min_outputs = 0;
  uint32_t max_outputs = UINT32_MAX;
  bool variadic_inputs = false;  // the last input parameter repeats
  bool homogeneous = true;       // … with one type
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  const onnx::OpSchema* libonnx = nullptr;  // the newest version that libonnx has up to this one, or null
  InferFunction infer = nullptr;            // ours, in place of libonnx's
  std::string_view inference_of;            // libonnx's inference of another operator, if not empty
  std::optional<std::string_view> attributes;  // ours (attribute_list.h), in place of libonnx's

  const Parameter* input(size_t index) const {
    if (index < inputs.size()) return &inputs[index];
    return variadic_inputs ? &inputs.back() : nullptr;
  }
};

// A cache over the registries; one for each reading or inference, so that there is no global state.
class SchemaTable {
 public:
  SchemaTable();
  ~SchemaTable();
  // Null when nothing describes the operator in that opset.
  const OperatorSchema* Find(std::string_view domain, std::string_view op_type, int64_t opset);

 private:
  struct Key {
    std::string_view domain;
    std::string_view op_type;
    int64_t opset;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry;
  std::unordered_map<Key, std::unique_ptr<Entry>, KeyHash> entries_;
};

// The operator's name that is most like `op_type`, or "".
std::string NearestOperator(std::string_view domain, std::string_view op_type);

// Arity and attributes. Throws INVALID_GRAPH naming the node, NOT_IMPLEMENTED for an operator removed from the opset.
void CheckNode(const Node& node, const OperatorSchema& schema);
void CheckNode(const Node& node, const CustomOperator& schema);
// Whether a node has as many inputs and outputs as its operator takes.
bool HasRightArity(const Node& node, const CustomOperator& schema);
// Types of the inputs, as far as they are known. Throws INVALID_GRAPH naming the node.
void CheckInputTypes(const Node& node, const OperatorSchema& schema);

// The number of inputs or outputs without those that are left out at the end.
uint32_t CountWithoutTrailingNulls(const std::vector<ValueDef*>& values);

// "Conv node 'conv1'", for messages.
std::string NodeLabel(const Node& node);

}  // namespace epiphyte::core
