// Outputs of generated models agree with those of ONNX Runtime 1.30, whichever way the model gets into a session.
//
// tests/models/expected/<model> holds ONNX Runtime's outputs, made by epiphyte_ort_bench --outputs --thin. A small
// output is whole, as output_<N>.pb; a large one has a part of the elements, as thinned_<N>.pb (value_files.h). A
// variant that computes the values of another variant, or of the model, shares those outputs. (With 4-bit weights
// behind DequantizeLinear ONNX Runtime rounds the rows to 8 bits; with MatMulNBits it doesn't. Both variants have the
// outputs of MatMulNBits.)
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
