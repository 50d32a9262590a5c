// Outputs of generated models agree with those of ONNX Runtime 1.30, for every way in which the model gets into a
// session.
//
// tests/models/expected/<model> holds ONNX Runtime's outputs, made by epiphyte_ort_bench --outputs --thin. A small
// output is whole, as output_<N>.pb; of a large one some of the elements are there, as thinned_<N>.pb (value_files.h).
// A variant that computes the same values as another variant, or as the model, shares those outputs. (Both variants
// with 4-bit weights have the outputs of MatMulNBits, because ONNX Runtime rounds the rows to 8 bits if the weights
// come from DequantizeLinear.)
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace epiphyte::test {

enum class Route { kPlain, kContext, kEmbeddedContext };

using AgreementParameter = std::tuple<std::string, Route>;
std::string NameOfAgreement(const ::testing::TestParamInfo<AgreementParameter>& info);

void ExpectAgreement(const std::string& model, Route route);

}  // namespace epiphyte::test
