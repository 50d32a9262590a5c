#include "tests/vulkan/ops/one_node.h"

#include <functional>
#include <numeric>

namespace epiphyte::test {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

std::string ShapeText(const std::vector<int64_t>& dims) {
  std::vector<std::string> parts;
  for (const int64_t dim : dims) parts.push_back(std::to_string(dim));
  return "[" + Join(parts) + "]";
}

// Elements from -1 to 1 as text.
std::string ElementsText(const std::vector<int64_t>& dims, size_t seed) {
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<std::string> parts;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(std::to_string(static_cast<double>((i * 7919 + static_cast<int64_t>(seed) * 31) % 257) / 128 - 1));
  return "{" + Join(parts) + "}";
}

std::string ModelOf(const NodeCase& node) {
  const bool half = node.type == DataType::kFloat16;
  const std::string type = half ? "float16" : "float";
  std::vector<std::string> inputs, outputs, initializers, arguments, results;
  std::string body;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    arguments.push_back("x" + std::to_string(i));
    inputs.push_back(type + ShapeText(node.inputs[i]) + " " + arguments.back());
  }
  for (size_t i = 0; i < node.constants.size(); ++i) {
    const std::string name = "c" + std::to_string(i);
    initializers.push_back("float" + ShapeText(node.constants[i]) + " " + name + " = " +
                           ElementsText(node.constants[i], i));
    if (half) body += "h" + name + " = Cast <to=10> (" + name + ") ";
    arguments.push_back(half ? "h" + name : name);
  }
  for (size_t i = 0; i < node.others.size(); ++i) {
    arguments.push_back("k" + std::to_string(i));
    const size_t equals = node.others[i].find('=');
    initializers.push_back(node.others[i].substr(0, equals) + arguments.back() + " " + node.others[i].substr(equals));
  }
  for (size_t i = 0; i < node.outputs; ++i) {
    results.push_back("y" + std::to_string(i));
    outputs.push_back((i == 0 ? type : "int64") + "[] " + results.back());
  }
  return "g (" + Join(inputs) + ") => (" + Join(outputs) + ")" +
         (initializers.empty() ? "" : " <" + Join(initializers) + ">") + " { " + body + Join(results) + " = " + node.op +
         " (" + Join(arguments) + ") }";
}

}  // namespace

void NodeTest::ExpectLikeCpu(const NodeCase& node) {
  std::string shapes;
  for (const std::vector<int64_t>& dims : node.inputs) shapes += " " + ShapeText(dims);
  SCOPED_TRACE(node.op + " of" + shapes);
  std::vector<ValuePtr> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(Random(node.type, node.inputs[i], static_cast<uint32_t>(i + 1)));
  ExpectLikeCpu(ModelOf(node), inputs, {.opset = node.opset});
}

}  // namespace epiphyte::test
