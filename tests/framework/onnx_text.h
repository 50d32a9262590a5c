// ONNX models for tests, written in ONNX's textual syntax.
//
//   std::string bytes = OnnxFromText(R"(
//     <ir_version: 8, opset_import: ["" : 17]>
//     g (float[N] x) => (float[N] y) { y = Relu(x) })");
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace epiphyte::test {

// Returns a serialised ModelProto; throws std::runtime_error with the parser's message. Inputs called 'absent' are left
// out.
std::string OnnxFromText(std::string_view text);

// Returns the model "y0 = Op(x)", "y1 = Op(y0)", … on float[N], with `operators` in order.
std::string ChainModel(std::initializer_list<std::string_view> operators);

}  // namespace epiphyte::test
