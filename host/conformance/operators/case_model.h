// CaseModel: a case as an ONNX model of one node, named "the_node", with values for its inputs.
//
//   const CaseModel model = MakeModel(c, random);
//   core::Session session(environment, model.bytes.data(), model.bytes.size(), options);
//   session.Run(model.inputs);
//
// Quantized tensors get DequantizeLinear and QuantizeLinear nodes around that node.
#pragma once

#include <string>
#include <vector>

#include "core/graph/value.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

struct CaseModel {
  std::string bytes;
  std::vector<core::ValuePtr> inputs;
};

// `random` chooses how much of the model's shapes and inputs is known before the run.
CaseModel MakeModel(const Case& c, Random& random);

}  // namespace epiphyte::operators
