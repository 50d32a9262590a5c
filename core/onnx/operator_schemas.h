// OperatorSchemas: operators of other domains than ONNX's, as somebody above this floor describes them. Reading,
// inference and inlining ask for them wherever they ask for ONNX's.
//
//   class MySchemas : public OperatorSchemas { … };
//   MySchemas schemas;
//   ReadOptions options;
//   options.schemas = &schemas;
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attribute.h"

namespace epiphyte::core {

class NodeInference;

class CustomOperator {
 public:
  struct AttributeRule {
    std::string name;
    AttributeType type;
    bool required = false;
  };

  virtual ~CustomOperator() = default;
  // Sets what is known of the outputs. Throws INVALID_GRAPH when the model is wrong. Numbers of inputs and outputs are
  // right.
  virtual void Infer(NodeInference& node) const = 0;

  std::string domain;
  std::string op_type;
  int64_t since_version = 0;
  uint32_t min_inputs = 0;
  uint32_t max_inputs = UINT32_MAX;
  uint32_t min_outputs = 0;
  uint32_t max_outputs = UINT32_MAX;
  std::vector<AttributeRule> attributes;
};

class OperatorSchemas {
 public:
  virtual ~OperatorSchemas() = default;
  // The newest form up to `opset`; null when nobody describes the operator. Stays valid as long as this object. Never
  // asked for operators that are ONNX's or the core's own.
  virtual const CustomOperator* Find(std::string_view domain, std::string_view op_type, int64_t opset) const = 0;
};

// Asks `schemas`, which may be null, for what isn't ONNX's or the core's own.
const CustomOperator* FindCustomOperator(const OperatorSchemas* schemas, std::string_view domain,
                                         std::string_view op_type, int64_t opset);
// Whether a plugin may describe the operator.
bool IsCustomOperator(std::string_view domain, std::string_view op_type);

}  // namespace epiphyte::core
