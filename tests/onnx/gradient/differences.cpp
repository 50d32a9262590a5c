#include "tests/onnx/gradient/differences.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/framework/onnx_text.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

void AddGradient(onnx::GraphProto* graph, const std::string& name, const std::vector<std::string>& xs,
                 const std::vector<std::string>& zs, const std::string& y, const std::vector<std::string>& outputs) {
  std::vector<std::string> inputs = xs;
  inputs.insert(inputs.end(), zs.begin(), zs.end());
  onnx::NodeProto& node = ProtoModel::AddNode(graph, "Gradient", inputs, outputs, "ai.onnx.preview.training");
  node.set_name(name);
  for (const std::string& x : xs) {
    if (node.attribute_size() == 0) ProtoModel::Attribute(node, "xs", onnx::AttributeProto::STRINGS);
    node.mutable_attribute(0)->add_strings(x);
  }
  if (!zs.empty()) {
    onnx::AttributeProto& attribute = ProtoModel::Attribute(node, "zs", onnx::AttributeProto::STRINGS);
    for (const std::string& z : zs) attribute.add_strings(z);
  }
  ProtoModel::Attribute(node, "y", onnx::AttributeProto::STRING).set_s(y);
}

std::vector<std::string> Prefixed(const std::string& prefix, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(prefix + name);
  return all;
}

double Total(const core::Value& value) {
  double sum = 0;
  for (const double each : DoublesOf(value)) sum += each;
  return sum;
}

}  // namespace

core::ValuePtr Doubles(std::vector<int64_t> dims, const std::vector<double>& values) {
  core::ValuePtr value = core::Value::Tensor(core::DataType::kDouble, std::move(dims));
  std::copy(values.begin(), values.end(), static_cast<double*>(value->mutable_data()));
  return value;
}

std::vector<double> DoublesOf(const core::Value& value) {
  return {value.data_as<double>(), value.data_as<double>() + value.element_count()};
}

Differentiated& Differentiated::By(const std::string& x, std::vector<int64_t> dims, double low, double high) {
  // The numbers are evenly spaced and shuffled. Operators that select by size then select the same element after a
  // small change.
  std::vector<double> numbers(core::ElementCount(dims));
  const double offset = 0.371 + 0.13 * static_cast<double>(inputs_.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = low + (high - low) * (static_cast<double>(i) + offset) / static_cast<double>(numbers.size());
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(static_cast<uint32_t>(inputs_.size() + 1)));
  inputs_.push_back({x, "", dims, Doubles(dims, numbers), true});
  return *this;
}

Differentiated& Differentiated::Given(const std::string& name, const std::string& declared, core::ValuePtr value) {
  inputs_.push_back({name, declared, {}, std::move(value), false});
  return *this;
}

std::vector<std::string> Differentiated::Xs() const {
  std::vector<std::string> xs;
  for (const Input& input : inputs_)
    if (input.by) xs.push_back(input.name);
  return xs;
}

std::vector<core::ValuePtr> Differentiated::Values() const {
  std::vector<core::ValuePtr> values;
  for (const Input& input : inputs_) values.push_back(input.value);
  return values;
}

// The model's outputs are y * y, the first derivatives, the sum of their squares, and the second derivatives.
std::string Differentiated::Model(const DifferentiateAs& how, int order) const {
  std::vector<std::string> inputs;
  for (const Input& input : inputs_) {
    std::vector<std::string> dims;
    for (size_t i = 0; i < input.dims.size(); ++i)
      dims.push_back(how.open ? fmt::format("{}_{}", input.name, i) : std::to_string(input.dims[i]));
    inputs.push_back(input.by ? fmt::format("double[{}] {}", fmt::join(dims, ","), input.name)
                              : input.declared + " " + input.name);
  }
  onnx::ModelProto model;
  model.ParseFromString(OnnxFromText(
      fmt::format("<ir_version: 8, opset_import: [\"\" : {}, \"ai.onnx.preview.training\" : 1, \"com.microsoft\" : 1]>"
                  "g ({}) => (double[] loss) {{ {} loss = Mul(y, y) }}",
                  how.opset, fmt::join(inputs, ", "), nodes_)));
  onnx::GraphProto* graph = model.mutable_graph();
  graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const std::vector<std::string> xs = Xs();
  std::string loss = "loss";
  for (int i = 1; i <= order; ++i) {
    const std::vector<std::string> derivatives = Prefixed("d" + std::to_string(i) + "_", xs);
    AddGradient(graph, "gradient" + std::to_string(i), xs, {}, loss, derivatives);
    for (const std::string& derivative : derivatives) graph->add_output()->set_name(derivative);
    // The next Gradient differentiates the sum of all squared derivatives.
    std::vector<std::string> parts;
    for (const std::string& derivative : derivatives) {
      ProtoModel::AddNode(graph, "ReduceSumSquare", {derivative}, {"square_" + derivative}).set_name("");
      ProtoModel::Int(*graph->mutable_node(graph->node_size() - 1), "keepdims", 0);
      parts.push_back("square_" + derivative);
    }
    loss = "loss" + std::to_string(i);
    ProtoModel::AddNode(graph, "Sum", parts, {loss});
    graph->add_output()->set_name(loss);
  }
  return model.SerializeAsString();
}

void Differentiated::Check(const DifferentiateAs& how) const {
  SCOPED_TRACE(fmt::format("{} in opset {}{}", nodes_, how.opset, how.open ? ", open" : ""));
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  const std::string bytes = Model(how, how.order);
  std::unique_ptr<core::Session> session;
  ASSERT_EQ(FailureOf([&] {
              session = std::make_unique<core::Session>(*environment, bytes.data(), bytes.size(),
                                                        core::SessionConfig(OptionsFor({"cpu"})));
            }),
            "OK");
  std::vector<core::ValuePtr> values = Values();
  std::vector<core::ValuePtr> outputs;
  ASSERT_EQ(FailureOf([&] { outputs = session->Run(values); }), "OK");
  const size_t count = Xs().size();
  size_t x = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].by) continue;
    const std::vector<double> numbers = DoublesOf(*inputs_[i].value);
    for (int order = 1; order <= how.order; ++order) {
      const core::Value& derivative = *outputs[1 + static_cast<size_t>(order - 1) * (count + 1) + x];
      ASSERT_EQ(std::vector<int64_t>(derivative.dims().begin(), derivative.dims().end()), inputs_[i].dims)
          << "order " << order << " by " << inputs_[i].name;
    }
    for (size_t e = 0; e < numbers.size(); ++e) {
      const double step = 1e-5;
      std::vector<std::vector<core::ValuePtr>> beside;
      for (const double by : {step, -step}) {
        std::vector<double> moved = numbers;
        moved[e] += by;
        values[i] = Doubles(inputs_[i].dims, moved);
        beside.push_back(session->Run(values));
      }
      values[i] = inputs_[i].value;
      for (int order = 1; order <= how.order; ++order) {
        const size_t y = static_cast<size_t>(order - 1) * (count + 1);
        const double expected = (Total(*beside[0][y]) - Total(*beside[1][y])) / (2 * step);
        const double found = DoublesOf(*outputs[y + 1 + x])[e];
        ASSERT_NEAR(found, expected, 1e-5 * std::max(1.0, std::fabs(expected)))
            << "order " << order << " by element " << e << " of " << inputs_[i].name;
      }
    }
    ++x;
  }
}

void Differentiated::CheckIn(std::vector<int64_t> opsets, int order) const {
  for (const int64_t opset : opsets)
    for (const bool open : {false, true}) Check({.opset = opset, .open = open, .order = order});
}

std::string Differentiated::Failure(const DifferentiateAs& how) const {
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  return FailureOf([&] {
    const std::string bytes = Model(how, how.order);
    core::Session(*environment, bytes.data(), bytes.size(), core::SessionConfig(OptionsFor({"cpu"})));
  });
}

}  // namespace epiphyte::test
