// OperatorCase: one operator of the table in one type at one size, as a model with inputs.
//
//   for (const OperatorCase& one : OperatorCases()) {
//     const OperatorModel made = MakeOperatorModel(one);  // "Conv#3x3/float/1x64x56x56_64x64x3x3"
//     Session session(environment, Bytes(made.model.SerializeAsString()));
//   }
//
// The same case has the same bytes on every run.
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
  std::string_view op;    // of the row's operators
  std::string_view type;  // of the row's types
  size_t size;            // of the row's sizes
};

struct OperatorModel {
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs;  // of the graph, in its order
};

// All cases, row by row. Throws std::invalid_argument when a row can't be read.
std::vector<OperatorCase> OperatorCases();

// Throws std::invalid_argument when the row can't be read.
OperatorModel MakeOperatorModel(const OperatorCase& one);

}  // namespace epiphyte::test
