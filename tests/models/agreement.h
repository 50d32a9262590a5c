// Outputs of generated models agree with those of ONNX Runtime 1.30, whichever way the model gets into a session.
//
// tests/models/expected/<model> holds ONNX Runtime's, made by epiphyte_ort_bench --outputs --thin: whole as
// output_<N>.pb, or as thinned_<N>.pb a part of the elements of a large one (value_files.h). A variant whose values are
// those of another, or the model's, has them. (Of 4-bit weights behind DequantizeLinear ONNX Runtime rounds the rows to
// 8 bits, of MatMulNBits it doesn't: both have the latter's.)
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
