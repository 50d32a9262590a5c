// A custom rewrite rule: Pow(x, 2) becomes Mul(x, x), which is faster on every provider.
//
//   rewrite_rule MODEL       says what was rewritten, runs MODEL with the rule and without, and compares the outputs
#include <cmath>
#include <cstring>
#include <epiphyte/epiphyte.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace {

using epiphyte::ElementType;
using epiphyte::Error;
using epiphyte::GraphEditor;
using epiphyte::GraphNode;
using epiphyte::StatusCode;
using epiphyte::Value;

// Returns true for a scalar float 2, the exponent of `Pow` in every exported x².
bool IsTwo(const Value& constant) {
  return constant && constant.element_type() == ElementType::kFloat && constant.element_count() == 1 &&
         constant.shape().empty() && constant.Data<float>()[0] == 2;
}

epiphyte::RewriteRule SquareRule(int* rewritten) {
  epiphyte::RewriteRule rule;
  rule.name = "example.SquareToMul";
  rule.version = "1";
  rule.op_type = "Pow";
  rule.matches = [](const GraphNode& node) { return node.input(1) && IsTwo(node.input(1).constant()); };
  rule.rewrite = [rewritten](GraphEditor& graph, const GraphNode& node) {
    const GraphNode product = graph.AddNode({.op_type = "Mul", .inputs = {node.input(0), node.input(0)}});
    graph.Replace(node, product.output(0));
    ++*rewritten;
  };
  return rule;
}

// Returns the same input for every run: 0, 0.25, 0.5, … for floats, 0 for other types. Unknown dimensions become 1.
Value MakeInput(const epiphyte::ValueInfo& info) {
  epiphyte::Shape shape;
  if (auto dimensions = info.type.shape()) {
    for (const epiphyte::Dimension& dimension : *dimensions) shape.push_back(dimension.size < 0 ? 1 : dimension.size);
  }
  Value value = Value::Tensor(info.type.element_type(), shape);
  if (value.element_type() == ElementType::kFloat) {
    float next = 0;
    for (float& element : value.MutableData<float>()) element = (next = next < 2 ? next + 0.25f : 0);
  } else {
    std::memset(value.mutable_data(), 0, value.byte_size());
  }
  return value;
}

std::vector<Value> Run(const epiphyte::Session& session) {
  std::vector<Value> inputs;
  for (const epiphyte::ValueInfo& info : session.inputs()) inputs.push_back(MakeInput(info));
  return session.Run(inputs);
}

void CheckSame(const std::vector<Value>& found, const std::vector<Value>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].element_type() != ElementType::kFloat) continue;
    for (size_t k = 0; k < expected[i].element_count(); ++k) {
      const float difference = std::abs(found[i].Data<float>()[k] - expected[i].Data<float>()[k]);
      if (difference <= 1e-4f * (1 + std::abs(expected[i].Data<float>()[k]))) continue;
      throw Error(StatusCode::kFail, "output " + std::to_string(i) + " differs by " + std::to_string(difference));
    }
  }
}

void Main(const std::string& model) {
  epiphyte::Environment environment;
  int rewritten = 0;
  epiphyte::SessionOptions options;
  options.AddRewriteRule(SquareRule(&rewritten));
  const epiphyte::Session with_rule(environment, model, options);
  std::cout << "rewrote " << rewritten << " of Pow into Mul: " << with_rule.placement().Summary() << '\n';
  CheckSame(Run(with_rule), Run(epiphyte::Session(environment, model)));
  std::cout << "the outputs are those of the model\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: rewrite_rule MODEL\n";
    return 2;
  }
  try {
    Main(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "rewrite_rule: error: " << error.what() << '\n';
    return 1;
  }
}
