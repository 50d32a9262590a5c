// Values that inference functions often handle wrongly: inputs and attributes at the limits of what a file can contain.
#pragma once

#include <vector>

#include "tests/onnx/inference_sweep/inference_case.h"

namespace epiphyte::test {

// Returns a tensor type with `rank` small, known dimensions. If `rank` is negative, the rank is unknown.
core::TypePtr TensorType(core::DataType element, int rank);

// Returns inputs of every kind, element type, rank and source.
std::vector<CaseInput> InputPool();

// Returns values for an attribute that is declared with `type`. The first is plausible; the last have other types.
std::vector<CaseAttribute> AttributePool(const std::string& name, core::AttributeType type);

}  // namespace epiphyte::test
