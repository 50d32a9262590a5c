// Operator schemas: libonnx's, and the core's overlay on top, which adds operators and versions that the installed
// libonnx doesn't know, and the core's own inference functions.
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
#include "core/onnx/schema/overlay.h"

namespace onnx {
class OpSchema;
}

namespace epiphyte::core {

inline constexpr int64_t kMaxOnnxOpset = 26;
inline constexpr std::string_view kPreviewTrainingDomain = "ai.onnx.preview.training";

// Maps both spellings of ai.onnx to "".
std::string_view NormalDomain(std::string_view domain);
// The newest opset of a domain with operators that the core knows; 0 for any other domain. Models with newer opsets are
// read as far as their operators are unchanged since this opset.
int64_t MaxOpset(std::string_view domain);

class CustomOperator;

struct OperatorSchema {
  // Types that an input or output may have. Parameters with the same `variable` have the same type.
  struct Parameter {
    std::string name;
    int variable = -1;
    uint64_t element_types = 0;  // bit n: tensors of DataType n
    bool only_tensors = true;    // false: other kinds are allowed too, and not checked
  };

  std::string domain;
  std::string op_type;
  int64_t since_version = 0;
  // libonnx knows exactly this version, so its type constraints and inference errors can be trusted.
  bool exact = false;
  bool deprecated = false;
  uint32_t min_inputs = 0;
  uint32_t max_inputs = UINT32_MAX;
  uint32_t min_outputs = 0;
  uint32_t max_outputs = UINT32_MAX;
  bool variadic_inputs = false;  // the last input parameter repeats
  bool homogeneous = true;       // repetitions of the last input have one type
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  const onnx::OpSchema* libonnx = nullptr;     // the newest version in libonnx up to this one, or null
  InferFunction infer = nullptr;               // the core's function, replaces libonnx's
  std::string_view inference_of;               // libonnx's inference of another operator, if not empty
  std::optional<std::string_view> attributes;  // the core's list (attribute_list.h), replaces libonnx's

  const Parameter* input(size_t index) const {
    if (index < inputs.size()) return &inputs[index];
    return variadic_inputs ? &inputs.back() : nullptr;
  }
};

// A cache of schemas. Each reading or inference uses its own, so that there is no global state.
class SchemaTable {
 public:
  SchemaTable();
  ~SchemaTable();
  // Null when no schema describes the operator in that opset.
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

// The operator name closest to `op_type`, or "".
std::string NearestOperator(std::string_view domain, std::string_view op_type);

// Checks arity and attributes. Throws INVALID_GRAPH naming the node, NOT_IMPLEMENTED for an operator removed from the
// opset.
void CheckNode(const Node& node, const OperatorSchema& schema);
void CheckNode(const Node& node, const CustomOperator& schema);
// Whether the numbers of a node's inputs and outputs match its operator.
bool HasRightArity(const Node& node, const CustomOperator& schema);
// Checks the types of the inputs as far as they are known. Throws INVALID_GRAPH naming the node.
void CheckInputTypes(const Node& node, const OperatorSchema& schema);

// The number of inputs or outputs, without omitted ones at the end.
uint32_t CountWithoutTrailingNulls(const std::vector<ValueDef*>& values);

// "Conv node 'conv1'", for messages.
std::string NodeLabel(const Node& node);

}  // namespace epiphyte::core
