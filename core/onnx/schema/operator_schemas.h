// OperatorSchemas: interface through which higher layers describe operators outside ONNX's domains. Reading, inference
// and inlining use it wherever they use ONNX's schemas.
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
  // Sets the known types of the outputs. Throws INVALID_GRAPH when the model is wrong. The caller has checked the
  // numbers of inputs and outputs.
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
  // The newest version up to `opset`; null when the operator is unknown. The result is valid as long as this object.
  // Never called for operators of ONNX or of the core.
  virtual const CustomOperator* Find(std::string_view domain, std::string_view op_type, int64_t opset) const = 0;
};

// Looks the operator up in `schemas` unless it is ONNX's or the core's own. `schemas` may be null.
const CustomOperator* FindCustomOperator(const OperatorSchemas* schemas, std::string_view domain,
                                         std::string_view op_type, int64_t opset);
// Whether a plugin may describe the operator.
bool IsCustomOperator(std::string_view domain, std::string_view op_type);

}  // namespace epiphyte::core
