#include "tests/framework/onnx_text.h"

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <stdexcept>

namespace epiphyte::test {

std::string OnnxFromText(std::string_view text) {
  onnx::ModelProto model;
  std::string copy(text);
  onnx::OnnxParser parser(copy.c_str());
  auto status = parser.Parse(model);
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  // Some releases of the parser can't read an empty name.
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node())
    for (std::string& input : *node.mutable_input())
      if (input == "absent") input.clear();
  return model.SerializeAsString();
}

std::string ChainModel(std::initializer_list<std::string_view> operators) {
  std::string body;
  std::string input = "x";
  size_t index = 0;
  for (std::string_view op : operators) {
    std::string output = ++index == operators.size() ? "y" : "v" + std::to_string(index);
    body += output + " = " + std::string(op) + "(" + input + ")\n";
    input = output;
  }
  return OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> g (float[N] x) => (float[N] y) {" + body + "}");
}

}  // namespace epiphyte::test
