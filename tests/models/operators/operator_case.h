// OperatorCase is one operator of the table in one type at one size, as a model with inputs.
//
//   for (const OperatorCase& one : OperatorCases()) {
//     const OperatorModel made = MakeOperatorModel(one);  // "Conv#3x3/float/1x64x56x56_64x64x3x3"
//     Session session(environment, Bytes(made.model.SerializeAsString()));
//   }
//
// A case has the same bytes in every run.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>
#include <vector>

#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::test {

using operators::OperatorRow;

struct OperatorCase {
  std::string name;  // operator/type/dims of the first inputs
  const OperatorRow* row;
  std::string_view op;    // one of the row's operators
  std::string_view type;  // one of the row's types
  size_t size;            // index into the row's sizes
};

struct OperatorModel {
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs;  // inputs of the graph, in its order
};

// Returns all cases, row by row. Throws std::invalid_argument if a row can't be parsed.
std::vector<OperatorCase> OperatorCases();

// Builds the case. Throws std::invalid_argument if the row can't be parsed.
OperatorModel MakeOperatorModel(const OperatorCase& one);

}  // namespace epiphyte::test
