#include "tests/operators/runner.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/graph/value.h"
#include "epiphyte/kit/signature/signature.hpp"
#include "tests/framework/test_session.h"

namespace epiphyte::operators {
namespace {

using test::FailureOf;
using test::OptionsFor;

core::ValuePtr ToValue(const Array& array) {
  if (array.type == DataType::kString) {
    std::vector<std::string> strings;
    for (Number value : array.values) strings.push_back(TextOf(value));
    return core::Value::Strings(array.dims, std::move(strings));
  }
  core::ValuePtr value = core::Value::Tensor(array.type, array.dims);
  const std::string bytes = Encode(array);
  if (!bytes.empty()) std::memcpy(value->mutable_data(), bytes.data(), bytes.size());
  return value;
}

void FillTensor(const Array& array, onnx::TensorProto* tensor) {
  tensor->set_data_type(static_cast<int32_t>(array.type));
  for (int64_t dim : array.dims) tensor->add_dims(dim);
  if (array.type == DataType::kString) {
    for (Number value : array.values) tensor->add_string_data(TextOf(value));
  } else {
    tensor->set_raw_data(Encode(array));
  }
}

void FillAttribute(const std::string& name, const AttributeValue& value, onnx::AttributeProto* attribute) {
  attribute->set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    attribute->set_type(onnx::AttributeProto::INTS);
    for (int64_t number : *ints) attribute->add_ints(number);
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    attribute->set_type(onnx::AttributeProto::FLOATS);
    for (float number : *floats) attribute->add_floats(number);
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    attribute->set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& string : *strings) attribute->add_strings(string);
  } else {
    attribute->set_type(onnx::AttributeProto::TENSOR);
    FillTensor(std::get<Array>(value), attribute->mutable_t());
  }
}

// Part of an input's shape that the model declares.
enum class Told { kAll, kRank, kNothing };

void FillType(const Array& array, Told told, const std::string& name, onnx::ValueInfoProto* info) {
  info->set_name(name);
  if (array.type == DataType::kUndefined) return;
  onnx::TypeProto::Tensor* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int32_t>(array.type));
  if (told == Told::kNothing) return;
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  for (size_t axis = 0; axis < array.dims.size(); ++axis) {
    onnx::TensorShapeProto::Dimension* dim = shape->add_dim();
    if (told == Told::kAll) {
      dim->set_dim_value(array.dims[axis]);
    } else {
      dim->set_dim_param(name + "_" + std::to_string(axis));
    }
  }
}

struct Model {
  std::string bytes;
  std::vector<core::ValuePtr> inputs;
};

Model MakeModel(const Case& c, Random& random) {
  Model made;
  onnx::ModelProto model;
  model.set_ir_version(10);
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain(c.domain);
  opset->set_version(c.opset);
  if (!c.domain.empty()) {
    opset = model.add_opset_import();
    opset->set_domain("");
    opset->set_version(21);
  }
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name("random_case");
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(c.op_type);
  node->set_domain(c.domain);
  node->set_name("the_node");
  for (const auto& [name, value] : c.attributes) FillAttribute(name, value, node->add_attribute());

  const Told told = random.Pick({Told::kAll, Told::kAll, Told::kRank, Told::kNothing});
  const int constants = random.Pick({0, 0, 40, 70});
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Case::In& input = c.inputs[i];
    if (!input.array) {
      node->add_input("");
      continue;
    }
    const std::string name = "input_" + std::to_string(i);
    node->add_input(name);
    if (input.constant || random.Chance(constants)) {
      onnx::TensorProto* tensor = graph->add_initializer();
      FillTensor(*input.array, tensor);
      tensor->set_name(name);
    } else {
      FillType(*input.array, told, name, graph->add_input());
      made.inputs.push_back(ToValue(*input.array));
    }
  }
  while (node->input_size() > 0 && node->input(node->input_size() - 1).empty()) node->mutable_input()->RemoveLast();
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const std::string name = c.outputs[i].array ? "output_" + std::to_string(i) : "";
    node->add_output(name);
    if (c.outputs[i].array) FillType(*c.outputs[i].array, Told::kNothing, name, graph->add_output());
  }
  while (node->output_size() > 0 && node->output(node->output_size() - 1).empty()) node->mutable_output()->RemoveLast();
  made.bytes = model.SerializeAsString();
  return made;
}

std::string Text(const Dims& dims) {
  std::string text;
  for (int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

std::string Text(const Array& array) {
  constexpr size_t kMost = 24;
  std::ostringstream text;
  text.precision(9);
  text << core::DataTypeName(array.type) << Text(array.dims) << " =";
  for (size_t i = 0; i < std::min(array.values.size(), kMost); ++i) text << ' ' << array.values[i];
  if (array.values.size() > kMost) text << " …";
  return text.str();
}

std::string Text(const AttributeValue& value) {
  std::ostringstream text;
  const auto list = [&text](const auto& elements) {
    text << '[';
    for (size_t i = 0; i < elements.size(); ++i) text << (i == 0 ? "" : ",") << elements[i];
    text << ']';
  };
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, Array>) {
          text << Text(content);
        } else if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
          text << content;
        } else {
          list(content);
        }
      },
      value);
  return text.str();
}

// A refusal's message: "" or what it lacks. The nodes that a function stands for have its node's name in front of
// theirs; one that took the node's place has its name and an operator of its own.
std::string WhyBadRefusal(const Case& c, const std::string& error) {
  const bool is_named = error.find("the_node") != std::string::npos &&
                        (error.find(c.op_type) != std::string::npos || error.find("'the_node/") != std::string::npos ||
                         error.find("node 'the_node' (") != std::string::npos);
  if (!is_named) return "is refused without the names of node and operator: " + error;
  if (error.find('\n') != std::string::npos) return "is refused by more than a line: " + error;
  for (const char* internal : {"std::", "bad_alloc", "vector::", "basic_string", "map::at"})
    if (error.find(internal) != std::string::npos) return "is refused by what failed inside: " + error;
  return "";
}

bool IsNear(Number expected, Number found, DataType type, Number ulps, Number size, bool signs) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (expected == found) return !signs || std::signbit(expected) == std::signbit(found);
  if (!IsFloat(type)) return std::fabs(expected - found) <= ulps;
  if (ulps == 0) return false;
  // When one of the two overflows, the other may be the largest number.
  const Number most = Highest(type);
  const Number expected_finite = std::clamp(expected, -most, most);
  const Number found_finite = std::clamp(found, -most, most);
  const Number magnitude = std::max(std::fabs(expected_finite), size);
  return std::fabs(expected_finite - found_finite) <= ulps * std::max(Epsilon(type) * magnitude, Smallest(type));
}

uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// The last opset in which the operator has the form and the meaning that it has in this one.
int64_t LastOpsetAlike(const OperatorCases& op, int64_t opset) {
  constexpr int64_t kNewest = 25;
  // Versions in which an operator's meaning changes and its form doesn't, or in which the operator is removed.
  constexpr std::pair<std::string_view, int64_t> kChanges[] = {
      {"Hardmax", 13}, {"LogSoftmax", 13}, {"Scatter", 11}, {"Softmax", 13}, {"Upsample", 10}};
  if (!op.domain.empty()) return opset;
  int64_t last = kNewest;
  for (const auto& [op_type, version] : kChanges)
    if (op.op_type == op_type && version > opset) last = version - 1;
  for (const kit::Signature& signature : kit::FindSignatures("", op.op_type))
    if (signature.since_version > opset) last = std::min<int64_t>(last, signature.since_version - 1);
  return std::max(last, opset);
}

}  // namespace

void Case::Output(Array array, Bound bound) {
  for (Number& value : array.values) value = Round(array.type, value);
  outputs.push_back({std::move(array), std::move(bound)});
}

namespace {

Case Make(const OperatorCases& cases, Generator make, Random& random) {
  Case c;
  c.op_type = cases.op_type;
  c.domain = cases.domain;
  make(random, c);
  return c;
}

}  // namespace

Case MakeSpecialCase(const OperatorCases& cases, uint64_t number) {
  Random random(HashOf(cases.op_type) + number, number % 2 == 0 ? 2 : 10);
  return Make(cases, cases.make, random);
}

// Half of the good cases are of a later version than the one that they were made for.
Case MakeCase(const OperatorCases& cases, Generator make, uint64_t number) {
  Random random(HashOf(cases.op_type) + number);
  Case c = Make(cases, make, random);
  if (make == cases.make && number % 2 == 1) c.opset = random.Int(c.opset, LastOpsetAlike(cases, c.opset));
  return c;
}

std::string Describe(const Case& c) {
  std::string text = (c.domain.empty() ? "" : c.domain + "::") + c.op_type + ", opset " + std::to_string(c.opset);
  for (const auto& [name, value] : c.attributes) text += "\n  " + name + " = " + Text(value);
  for (const Case::In& input : c.inputs) text += "\n  input " + (input.array ? Text(*input.array) : "left out");
  for (const Case::Out& output : c.outputs) text += "\n  output " + (output.array ? Text(*output.array) : "left out");
  return text;
}

std::string Difference(const Case::Out& expected, const core::Value& found) {
  const Array& array = *expected.array;
  if (!found.IsTensor()) return "is no tensor";
  const Dims dims(found.dims().begin(), found.dims().end());
  if (found.type() != array.type) return "is " + std::string(core::DataTypeName(found.type()));
  if (dims != array.dims) return "has the shape " + Text(dims);
  if (array.type == DataType::kString) {
    for (size_t i = 0; i < array.values.size(); ++i)
      if (found.string_at(i) != TextOf(array.values[i]))
        return "[" + std::to_string(i) + "] is '" + found.string_at(i) + "', expected " + TextOf(array.values[i]);
    return "";
  }
  const std::vector<Number> values = Decode(array.type, array.count(), found.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const Number size = i < expected.bound.sizes.size() ? expected.bound.sizes[i] : 0;
    if (IsNear(array.values[i], values[i], array.type, expected.bound.ulps, size, expected.bound.signs)) continue;
    std::ostringstream text;
    text.precision(17);
    text << '[' << i << "] is " << values[i] << ", expected " << array.values[i];
    if (IsFloat(array.type) && std::isfinite(array.values[i]) && std::isfinite(values[i])) {
      const Number magnitude = std::max({std::fabs(array.values[i]), size, Smallest(array.type)});
      text << ": off by " << std::fabs(array.values[i] - values[i]) / (Epsilon(array.type) * magnitude)
           << " steps, allowed " << expected.bound.ulps << ", of size " << size;
    }
    return text.str();
  }
  return "";
}

Runner::Runner(std::unique_ptr<core::Environment> environment) : environment_(std::move(environment)) {}
Runner::~Runner() = default;

std::string Runner::Run(const Case& c, Random random) {
  const Model model = MakeModel(c, random);
  core::SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 2;
  std::string failure;
  const std::string error = FailureOf([&] {
    core::Session session(*environment_, model.bytes.data(), model.bytes.size(), options);
    for (int run = 0; run < 2 && failure.empty(); ++run) {
      const std::vector<core::ValuePtr> found = session.Run(model.inputs);
      if (c.fails) continue;
      size_t at = 0;
      for (size_t i = 0; i < c.outputs.size() && failure.empty(); ++i) {
        if (!c.outputs[i].array) continue;
        const std::string difference = Difference(c.outputs[i], *found.at(at++));
        if (!difference.empty())
          failure = "run " + std::to_string(run + 1) + ": output " + std::to_string(i) + " " + difference;
      }
    }
  });
  if (c.fails) {
    if (error == "OK") return "is not refused";
    if (error.find(c.refusal) == std::string::npos) return "is refused without '" + c.refusal + "': " + error;
    return WhyBadRefusal(c, error);
  }
  return error == "OK" ? failure : "fails: " + error;
}

std::string Runner::RunHostile(const Case& c, Random random) {
  const Model model = MakeModel(c, random);
  core::SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 2;
  options.Set("session.max_value_bytes", "100000000");
  options.Set("session.max_run_bytes", "300000000");
  const std::string error = FailureOf(
      [&] { core::Session(*environment_, model.bytes.data(), model.bytes.size(), options).Run(model.inputs); });
  return error == "OK" ? "" : WhyBadRefusal(c, error);
}

}  // namespace epiphyte::operators
