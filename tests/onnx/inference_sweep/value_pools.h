// Values that inference functions get wrong: inputs and attributes at the edges of what a file can say.
#pragma once

#include <vector>

#include "tests/onnx/inference_sweep/inference_case.h"

namespace epiphyte::test {

// A tensor with `rank` small dimensions, all of them known; of unknown rank below 0.
core::TypePtr TensorType(core::DataType element, int rank);

// Inputs of every kind, element type, rank and source.
std::vector<CaseInput> InputPool();

// Values for an attribute that is declared with `type`; the first is a plausible one, the last are of other types.
std::vector<CaseAttribute> AttributePool(const std::string& name, core::AttributeType type);

}  // namespace epiphyte::test
