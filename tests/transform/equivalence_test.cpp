// Random graphs compute the same before and after the whole pipeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;

struct Tensor {
  std::vector<int64_t> dims;
  std::vector<float> data;
};

Tensor ToTensor(const Constant& constant) {
  Tensor tensor{constant.dims(), std::vector<float>(constant.element_count())};
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    tensor.data[i] = constant.type() == DataType::kInt64
                         ? static_cast<float>(static_cast<const int64_t*>(constant.data())[i])
                         : static_cast<const float*>(constant.data())[i];
  }
  return tensor;
}

float Combine(std::string_view op_type, float a, float b) {
  if (op_type == "Add") return a + b;
  if (op_type == "Sub") return a - b;
  if (op_type == "Mul") return a * b;
  return a / b;
}

// Evaluates the few operators of the random graphs; only a scalar broadcasts. Returns nullopt for any other operator.
std::optional<Tensor> Evaluate(const Node& node, const std::vector<Tensor>& inputs) {
  Tensor result = inputs[0];
  const std::string& op_type = node.op_type();
  if (op_type == "Identity" || op_type == "Dropout" || op_type == "Max" || op_type == "Concat") return result;
  if (op_type == "Relu" || op_type == "Neg" || op_type == "Abs") {
    for (float& x : result.data) x = op_type == "Relu" ? std::max(x, 0.0f) : op_type == "Neg" ? -x : std::abs(x);
    return result;
  }
  if (op_type == "Add" || op_type == "Sub" || op_type == "Mul" || op_type == "Div") {
    if (inputs[0].data.size() < inputs[1].data.size()) result = inputs[1];
    for (size_t i = 0; i < result.data.size(); ++i) {
      result.data[i] = Combine(op_type, inputs[0].data[inputs[0].data.size() == 1 ? 0 : i],
                               inputs[1].data[inputs[1].data.size() == 1 ? 0 : i]);
    }
    return result;
  }
  if (op_type == "Clip") {
    for (float& x : result.data) {
      if (inputs.size() > 1) x = std::max(x, inputs[1].data[0]);
      if (inputs.size() > 2) x = std::min(x, inputs[2].data[0]);
    }
    return result;
  }
  if (op_type == "Reshape") {
    result.dims.assign(inputs[1].data.begin(), inputs[1].data.end());
    return result;
  }
  if (op_type == "Transpose" && result.dims.size() == 2) {
    const Attribute* perm = node.FindAttribute("perm");
    if (perm != nullptr && perm->ints() == std::vector<int64_t>{0, 1}) return result;
    std::swap(result.dims[0], result.dims[1]);
    for (int64_t i = 0; i < result.dims[0]; ++i) {
      for (int64_t k = 0; k < result.dims[1]; ++k) {
        result.data[i * result.dims[1] + k] = inputs[0].data[k * result.dims[0] + i];
      }
    }
    return result;
  }
  return std::nullopt;
}

class Interpreter {
 public:
  explicit Interpreter(Tensor input) : input_(std::move(input)) {}

  std::map<std::string, std::vector<float>> Run(const Graph& graph) {
    std::map<const ValueDef*, Tensor> values;
    for (const ValueDef* value : graph.inputs()) values[value] = input_;
    for (const auto& value : graph.values()) {
      if (value != nullptr && value->IsConstant()) values[value.get()] = ToTensor(*value->constant());
    }
    for (const Node* node : graph.TopologicalOrder()) {
      std::vector<Tensor> inputs;
      for (const ValueDef* value : node->inputs()) inputs.push_back(values.at(value));
      values[node->output(0)] = Evaluate(*node, inputs).value();
    }
    std::map<std::string, std::vector<float>> outputs;
    for (const ValueDef* value : graph.outputs()) outputs[value->name()] = values.at(value).data;
    return outputs;
  }

 private:
  Tensor input_;
};

TransformContext FoldingContext() {
  TransformContext context;
  context.evaluate = [](const Node& node, std::vector<ConstantPtr>* outputs) {
    std::vector<Tensor> inputs;
    for (const ValueDef* value : node.inputs()) inputs.push_back(ToTensor(*value->ResolvedConstant()));
    const auto result = Evaluate(node, inputs);
    if (!result) return false;
    outputs->push_back(Constant::Copy(DataType::kFloat, result->dims, result->data.data(), result->data.size() * 4));
    return true;
  };
  return context;
}

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    graph_->SetOpset("", 20);
    Add(graph_->AddInput("x", Shape2(2, 3)));
    for (const float value : {0.0f, 1.0f, 2.0f, -1.0f, 0.5f}) {
      scalars_.push_back(graph_->AddConstant("", Constant::Copy(DataType::kFloat, {}, &value, 4)));
    }
    const std::vector<float> data = {1, -2, 3, -4, 5, -6};
    Add(graph_->AddConstant("w", Constant::Copy(DataType::kFloat, {2, 3}, data.data(), 24)));
    for (const auto& dims : std::vector<std::vector<int64_t>>{{2, 3}, {3, 2}, {6, 1}}) {
      shapes_.push_back(graph_->AddConstant("", Constant::Copy(DataType::kInt64, {2}, dims.data(), 16)));
    }
  }

  std::unique_ptr<Graph> Make(int nodes) {
    for (int i = 0; i < nodes; ++i) AddNode();
    std::vector<ValueDef*> outputs;
    for (ValueDef* value : values_) {
      const bool is_made = value->producer() != nullptr;
      if (is_made && (value->consumers().empty() || random_() % 6 == 0)) outputs.push_back(value);
    }
    graph_->SetOutputs(outputs);
    graph_->Finalize();
    return std::move(graph_);
  }

 private:
  static TypePtr Shape2(int64_t a, int64_t b) { return Type::Tensor(DataType::kFloat, core::Shape{Dim(a), Dim(b)}); }
  void Add(ValueDef* value) { values_.push_back(value); }
  ValueDef* Pick(const std::vector<ValueDef*>& from) { return from[random_() % from.size()]; }

  void AddNode() {
    ValueDef* a = values_[values_.size() - 1 - random_() % std::min<size_t>(values_.size(), 5)];
    TypePtr type = a->type();
    std::vector<ValueDef*> inputs = {a};
    std::vector<Attribute> attributes;
    std::string op_type;
    switch (random_() % 8) {
      case 0: op_type = std::vector<std::string>{"Identity", "Dropout", "Max", "Concat"}[random_() % 4]; break;
      case 1: op_type = std::vector<std::string>{"Relu", "Neg", "Abs"}[random_() % 3]; break;
      case 2:
        op_type = std::vector<std::string>{"Add", "Sub", "Mul"}[random_() % 3];
        inputs.push_back(Pick(scalars_));
        if (random_() % 2 == 0) std::swap(inputs[0], inputs[1]);
        break;
      case 3:
        op_type = "Div";
        inputs.push_back(scalars_[1 + random_() % 4]);
        break;
      case 4: {
        op_type = random_() % 2 == 0 ? "Add" : "Sub";
        for (ValueDef* other : values_) {
          if (*other->type() == *type && random_() % 2 == 0) inputs.resize(1), inputs.push_back(other);
        }
        if (inputs.size() == 1) inputs.push_back(a);
        break;
      }
      case 5:
        op_type = "Clip";
        inputs.push_back(scalars_[random_() % 2]);
        if (random_() % 2 == 0) inputs.push_back(scalars_[2]);
        break;
      case 6: {
        op_type = "Reshape";
        const size_t shape = random_() % shapes_.size();
        inputs.push_back(shapes_[shape]);
        type = shape == 0 ? Shape2(2, 3) : shape == 1 ? Shape2(3, 2) : Shape2(6, 1);
        break;
      }
      default: {
        op_type = "Transpose";
        const bool stays = random_() % 3 == 0;
        if (stays || random_() % 2 == 0)
          attributes.push_back(
              Attribute::Ints("perm", stays ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1, 0}));
        const auto& dims = *type->shape();
        if (!stays) type = Shape2(dims[1].value, dims[0].value);
      }
    }
    ValueDef* output = graph_->AddValue("v" + std::to_string(values_.size()), type);
    graph_->AddNode(op_type, "", 13, inputs, {output}, std::move(attributes), output->name());
    Add(output);
  }

  std::mt19937 random_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>("random");
  std::vector<ValueDef*> values_;
  std::vector<ValueDef*> scalars_;
  std::vector<ValueDef*> shapes_;
};

TEST(TransformEquivalence, RandomGraphsComputeTheSame) {
  size_t before = 0;
  size_t after = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    auto graph = RandomGraph(seed).Make(4 + static_cast<int>(seed % 40));
    Interpreter interpreter({{2, 3}, {0.5f, -1.5f, 2.5f, -0.25f, 4.0f, -8.0f}});
    const auto expected = interpreter.Run(*graph);
    const std::string original = Print(*graph);
    before += graph->node_count();
    TransformPipeline::Default().Run(*graph, TransformLevel::kExtended, FoldingContext());
    after += graph->node_count();
    const auto found = interpreter.Run(*graph);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, values] : expected) {
      ASSERT_EQ(found.count(name), 1u) << "output '" << name << "' is gone; seed " << seed;
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(found.at(name)[i], values[i], 1e-5 * std::max(1.0f, std::abs(values[i]))) << "seed " << seed << "\n"
                                                                                              << original << "became\n"
                                                                                              << Print(*graph);
      }
    }
  }
  EXPECT_LT(after * 4, before * 3) << "the transforms found work to do";
}

}  // namespace
}  // namespace epiphyte::test
