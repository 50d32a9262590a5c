#include "tests/special_numbers/form.h"

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/graph/value.h"
#include "core/runtime/session.h"
#include "host/conformance/operators/array.h"
#include "host/conformance/operators/random.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test::special_numbers {
namespace {

using core::DataType;
using operators::Array;
using operators::Number;
using operators::Random;

constexpr std::pair<std::string_view, double> kNumbers[] = {
    {"zero", 0},
    {"one", 1},
    {"two", 2},
    {"three", 3},
    {"six", 6},
    {"ones", 1},
    {"zeros", 0},
    {"half", 0.5},
    {"minus_one", -1},
    {"epsilon", 1e-3},
    {"cubic", 0.044715},
    {"root_of_2", M_SQRT2},
    {"root_of_2_by_pi", M_SQRT2* M_2_SQRTPI / 2},
};
std::optional<double> NumberOf(std::string_view name) {
  for (const auto& [known, number] : kNumbers)
    if (known == name) return number;
  return std::nullopt;
}

enum class Special { kNone, kNan, kInfinity, kMinusInfinity, kZeros, kSubnormal, kAny };
constexpr std::pair<Special, std::string_view> kSpecials[] = {
    {Special::kNone, "none"},          {Special::kNan, "NaN"},
    {Special::kInfinity, "+infinity"}, {Special::kMinusInfinity, "-infinity"},
    {Special::kZeros, "zeros"},        {Special::kSubnormal, "subnormal numbers"},
    {Special::kAny, "all of them"}};

Number Draw(Random& random, DataType type, Special special) {
  switch (special) {
    case Special::kNone: return random.Real(-1, 1);
    case Special::kNan: return std::numeric_limits<Number>::quiet_NaN();
    case Special::kInfinity: return HUGE_VALL;
    case Special::kMinusInfinity: return -HUGE_VALL;
    case Special::kZeros: return random.Chance(50) ? -Number{0} : Number{0};
    case Special::kSubnormal: return operators::Smallest(type) * static_cast<Number>(random.Int(-9, 9));
    case Special::kAny: return Draw(random, type, kSpecials[random.Int(1, 5)].first);
  }
  return 0;
}

// Returns numbers in ±1, among them a few special ones.
Array Operand(Random& random, DataType type, const operators::Dims& dims, Special special, bool positive) {
  Array array(type, dims);
  const int64_t every = std::max<int64_t>(2, array.count() / 6);
  for (int64_t i = 0; i < array.count(); ++i) {
    const bool is_special = special != Special::kNone && random.Int(0, every - 1) == 0;
    Number value = Draw(random, type, is_special ? special : Special::kNone);
    if (positive && !is_special) value = std::fabs(value) + 0.5L;
    array[i] = operators::Round(type, value);
  }
  if (special != Special::kNone && array.count() > 0)
    array[random.Int(0, array.count() - 1)] = operators::Round(type, Draw(random, type, special));
  return array;
}

struct Operands {
  std::string name;
  operators::Dims dims;
  bool constant = false;
};

class Model {
 public:
  Model(const Form& form, DataType type) : type_(type) {
    onnx::OnnxParser parser(form.text.c_str());
    const auto status = parser.Parse(*model_.mutable_graph());
    if (!status.IsOK()) throw std::runtime_error(form.name + ": " + status.ErrorMessage());
    // Some releases of the parser can't read an empty name.
    for (onnx::NodeProto& node : *model_.mutable_graph()->mutable_node())
      for (std::string& input : *node.mutable_input())
        if (input == "absent") input.clear();
    model_.set_ir_version(10);
    onnx::OperatorSetIdProto* const opset = model_.add_opset_import();
    opset->set_domain("");
    // Activations take bfloat16 since opset 22.
    opset->set_version(type == DataType::kBfloat16 ? std::max<int64_t>(form.opset, 22) : form.opset);
    for (const onnx::ValueInfoProto& input : model_.graph().input()) {
      operators::Dims dims;
      for (const auto& dim : input.type().tensor_type().shape().dim()) dims.push_back(dim.dim_value());
      operands_.push_back({input.name(), std::move(dims), !input.name().starts_with("x")});
    }
  }

  const std::vector<Operands>& operands() const { return operands_; }

  // Returns the model with these operands as constants. `whole`: each value is an output.
  std::string Bytes(const std::vector<Array>& arrays, bool whole) const {
    onnx::ModelProto model = model_;
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.clear_input();
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].constant) {
        onnx::TensorProto& tensor = *graph.add_initializer();
        tensor.set_name(operands_[i].name);
        tensor.set_data_type(static_cast<int32_t>(type_));
        for (const int64_t dim : operands_[i].dims) tensor.add_dims(dim);
        tensor.set_raw_data(Encode(arrays[i]));
      } else {
        onnx::ValueInfoProto& input = *graph.add_input();
        input = model_.graph().input(static_cast<int>(i));
        input.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(type_));
      }
    }
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(type_));
    if (whole) {
      const std::string last = graph.output(0).name();
      for (const onnx::NodeProto& node : graph.node()) {
        if (node.op_type() == "Constant" || node.output(0) == last) continue;
        graph.add_output()->set_name(node.output(0));
      }
    }
    return model.SerializeAsString();
  }

 private:
  DataType type_;
  onnx::ModelProto model_;
  std::vector<Operands> operands_;
};

core::ValuePtr ToValue(const Array& array) {
  core::ValuePtr value = core::Value::Tensor(array.type, array.dims);
  const std::string bytes = Encode(array);
  std::memcpy(value->mutable_data(), bytes.data(), bytes.size());
  return value;
}

std::string Compare(const Array& found, const Array& expected, const Form& form) {
  Number largest = 1;
  for (const Number value : expected.values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  const Number steps =
      std::max<Number>(static_cast<Number>(form.bound), form.epsilons * operators::Epsilon(expected.type));
  for (int64_t i = 0; i < expected.count(); ++i) {
    const Number a = found[i], b = expected[i];
    const bool same = std::isnan(a) || std::isnan(b)   ? std::isnan(a) && std::isnan(b)
                      : std::isinf(a) || std::isinf(b) ? a == b
                                                       : std::fabs(a - b) <= steps * largest;
    if (same) continue;
    std::ostringstream text;
    text.precision(9);
    text << '[' << i << "] is " << a << ", and " << b << " with all values as outputs";
    return text.str();
  }
  return "";
}

core::SessionOptions OptionsOf(const Setting& setting) {
  core::SessionOptions options = OptionsFor(setting.providers);
  options.thread_count = 2;
  if (!setting.precision.empty())
    options.provider_options[setting.providers.front()] = {{"precision", setting.precision}};
  return options;
}

}  // namespace

std::string FusionDifference(core::Environment& environment, const Form& form, DataType type, const Setting& setting) {
  const Model model(form, type);
  const core::SessionOptions options = OptionsOf(setting);
  const std::vector<Operands>& operands = model.operands();
  std::string differences;
  const auto tell = [&](std::string_view special, const std::string& operand, const std::string& what) {
    differences += form.name + ", " + std::string(core::DataTypeName(type)) + ", " + std::string(special) + " in " +
                   operand + ": " + what + "\n";
  };
  // All inputs use the same sessions while the constants stay the same.
  std::optional<core::Session> joined, whole;
  std::string constants;
  Random random(1);
  std::vector<Array> plain;
  for (const Operands& operand : operands) {
    const std::optional<double> number = NumberOf(operand.name);
    plain.push_back(Operand(random, type, operand.dims, Special::kNone, operand.name.starts_with("positive")));
    if (number)
      for (Number& value : plain.back().values) value = operators::Round(type, *number);
  }
  for (size_t at = 0; at < operands.size(); ++at) {
    if (NumberOf(operands[at].name)) continue;
    for (const auto& [special, name] : kSpecials) {
      if (special == Special::kNone && at != 0) continue;
      // Each set of constants takes two sessions, so only a few are tried.
      if (operands[at].constant && special != Special::kNan && (special != Special::kAny || type != DataType::kFloat))
        continue;
      std::vector<Array> arrays = plain;
      arrays[at] = Operand(random, type, operands[at].dims, special, operands[at].name.starts_with("positive"));
      const std::string failure = FailureOf([&] {
        const std::string bytes = model.Bytes(arrays, false);
        if (!joined || bytes != constants) {
          constants = bytes;
          const std::string whole_bytes = model.Bytes(arrays, true);
          joined.emplace(environment, bytes.data(), bytes.size(), options);
          whole.emplace(environment, whole_bytes.data(), whole_bytes.size(), options);
        }
        std::vector<core::ValuePtr> inputs;
        for (size_t i = 0; i < operands.size(); ++i)
          if (!operands[i].constant) inputs.push_back(ToValue(arrays[i]));
        const core::ValuePtr found = joined->Run(inputs).at(0), expected = whole->Run(inputs).at(0);
        const operators::Dims dims(expected->dims().begin(), expected->dims().end());
        const auto read = [&](const core::Value& value) {
          return Array(type, dims, operators::Decode(type, operators::CountOf(dims), value.data()));
        };
        if (!std::ranges::equal(found->dims(), expected->dims()))
          throw core::Error(core::StatusCode::kFail, "shapes differ");
        const std::string difference = Compare(read(*found), read(*expected), form);
        if (!difference.empty()) tell(name, operands[at].name, difference);
      });
      if (failure != "OK") tell(name, operands[at].name, failure);
    }
  }
  return differences;
}

}  // namespace epiphyte::test::special_numbers
