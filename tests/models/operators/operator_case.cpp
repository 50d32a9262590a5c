#include "tests/models/operators/operator_case.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "tests/models/builder.h"
#include "tests/models/random_weights.h"

namespace epiphyte::test {
namespace {

using Elem = onnx::TensorProto::DataType;
using Dims = std::vector<int64_t>;

constexpr int kOpset = 17;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

[[noreturn]] void Fail(std::string_view what, std::string_view text) {
  throw std::invalid_argument("the table of operators has " + std::string(what) + ": '" + std::string(text) + "'");
}

template <typename T>
std::optional<T> Number(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <typename T>
std::vector<T> Numbers(std::string_view text) {
  std::vector<T> numbers;
  for (const std::string_view part : Split(text, ',')) {
    const std::optional<T> number = Number<T>(part);
    if (!number) Fail("no number", text);
    numbers.push_back(*number);
  }
  return numbers;
}

Elem ElementType(std::string_view name) {
  constexpr std::pair<std::string_view, Elem> kTypes[] = {
      {"float", onnx::TensorProto::FLOAT},   {"float16", onnx::TensorProto::FLOAT16},
      {"double", onnx::TensorProto::DOUBLE}, {"bfloat16", onnx::TensorProto::BFLOAT16},
      {"bool", onnx::TensorProto::BOOL},     {"int8", onnx::TensorProto::INT8},
      {"uint8", onnx::TensorProto::UINT8},   {"int16", onnx::TensorProto::INT16},
      {"uint16", onnx::TensorProto::UINT16}, {"int32", onnx::TensorProto::INT32},
      {"uint32", onnx::TensorProto::UINT32}, {"int64", onnx::TensorProto::INT64},
      {"uint64", onnx::TensorProto::UINT64}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  Fail("an unknown type", name);
}

// The text of an operator in the table: [QDQ/][domain:]name[@opset][#label].
struct OperatorName {
  explicit OperatorName(std::string_view text) {
    if (text.starts_with("QDQ/")) {
      quantized = true;
      text.remove_prefix(4);
    }
    text = text.substr(0, text.find('#'));
    if (const size_t at = text.find('@'); at != text.npos) {
      const std::optional<int> number = Number<int>(text.substr(at + 1));
      if (!number) Fail("no opset", text);
      opset = *number;
      text = text.substr(0, at);
    }
    if (const size_t colon = text.find(':'); colon != text.npos) {
      domain = text.substr(0, colon);
      text.remove_prefix(colon + 1);
    }
    name = text;
  }

  bool quantized = false;
  int opset = kOpset;
  std::string domain, name;
};

// The text of an argument in the table: type[!][dims][{low,high}|=values]; '!' marks an initializer.
struct Argument {
  Argument(std::string_view text, std::string_view row_type) {
    if (text == "-") return;
    const size_t open = text.find('['), close = text.find(']');
    if (open == 0 || open == text.npos || close == text.npos || close < open) Fail("no input", text);
    std::string_view type_name = text.substr(0, open);
    if (type_name.ends_with('!')) {
      initializer = true;
      type_name.remove_suffix(1);
    }
    of_row_type = type_name == "T";
    type = ElementType(of_row_type ? row_type : type_name);
    present = true;
    dims = Numbers<int64_t>(text.substr(open + 1, close - open - 1));
    const std::string_view rest = text.substr(close + 1);
    if (rest.starts_with('=')) {
      values = Numbers<double>(rest.substr(1));
      if (static_cast<int64_t>(values.size()) != Count()) Fail("not as many values as elements", text);
    } else if (rest.starts_with('{') && rest.ends_with('}')) {
      const std::vector<double> bounds = Numbers<double>(rest.substr(1, rest.size() - 2));
      if (bounds.size() != 2 || bounds[0] >= bounds[1]) Fail("no range", text);
      range = std::pair(bounds[0], bounds[1]);
    } else if (!rest.empty()) {
      Fail("no input", text);
    }
  }

  int64_t Count() const { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

  bool present = false;
  bool initializer = false;
  bool of_row_type = false;  // the type is written as T
  Elem type = onnx::TensorProto::UNDEFINED;
  Dims dims;
  std::vector<double> values;
  std::optional<std::pair<double, double>> range;
};

std::pair<double, double> DefaultRange(Elem type) {
  switch (type) {
    case onnx::TensorProto::BOOL: return {0, 2};
    case onnx::TensorProto::INT8: return {-128, 128};
    case onnx::TensorProto::UINT8: return {0, 256};
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64: return {1, 50};
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::INT64: return {-50, 50};
    default: return {-1.5, 1.5};
  }
}

// Rounds towards zero. The numbers are small and finite; one that is too small for a normal float16 becomes zero.
uint16_t ToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int32_t exponent = static_cast<int32_t>((bits >> 23) & 0xFF) - 127 + 15;
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  if (exponent <= 0) return sign;
  return static_cast<uint16_t>(sign | (exponent << 10) | ((bits >> 13) & 0x3FF));
}

template <typename T, typename Convert>
void Fill(const std::vector<double>& numbers, std::string* raw, Convert convert) {
  raw->resize(numbers.size() * sizeof(T));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const T element = convert(numbers[i]);
    std::memcpy(raw->data() + i * sizeof(T), &element, sizeof(T));
  }
}

template <typename T>
void FillIntegers(const std::vector<double>& numbers, std::string* raw) {
  Fill<T>(numbers, raw, [](double number) { return static_cast<T>(static_cast<int64_t>(std::floor(number))); });
}

void FillElements(Elem type, const std::vector<double>& numbers, std::string* raw) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
      return Fill<float>(numbers, raw, [](double number) { return static_cast<float>(number); });
    case onnx::TensorProto::DOUBLE: return Fill<double>(numbers, raw, [](double number) { return number; });
    case onnx::TensorProto::FLOAT16:
      return Fill<uint16_t>(numbers, raw, [](double number) { return ToFloat16(static_cast<float>(number)); });
    case onnx::TensorProto::BFLOAT16:
      return Fill<uint16_t>(numbers, raw, [](double number) {
        return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(number)) >> 16);
      });
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16: return FillIntegers<int16_t>(numbers, raw);
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32: return FillIntegers<int32_t>(numbers, raw);
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64: return FillIntegers<int64_t>(numbers, raw);
    default: return FillIntegers<int8_t>(numbers, raw);
  }
}

onnx::TensorProto Tensor(const std::string& name, Elem type, const Dims& dims, const std::vector<double>& numbers) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  FillElements(type, numbers, tensor.mutable_raw_data());
  return tensor;
}

onnx::TensorProto Tensor(const std::string& name, const Argument& argument) {
  if (!argument.values.empty()) return Tensor(name, argument.type, argument.dims, argument.values);
  const auto [low, high] = argument.range.value_or(DefaultRange(argument.type));
  // The numbers are uniform in [0, 1): mean 1/2, standard deviation 1/sqrt(12).
  std::vector<float> unit(static_cast<size_t>(argument.Count()));
  FillRandom("operator " + name, 0.288675f, 0.5f, unit);
  std::vector<double> numbers;
  numbers.reserve(unit.size());
  for (const float number : unit) numbers.push_back(low + (high - low) * std::clamp(double{number}, 0.0, 0.999999));
  return Tensor(name, argument.type, argument.dims, numbers);
}

void AddAttributes(std::string_view text, onnx::NodeProto* node) {
  for (const std::string_view one : Split(text, ' ')) {
    const size_t equals = one.find('=');
    if (equals == one.npos) Fail("no attribute", one);
    const std::string_view value = one.substr(equals + 1);
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name(std::string(one.substr(0, equals)));
    if (value.starts_with('[') && value.ends_with(']')) {
      const Dims numbers = Numbers<int64_t>(value.substr(1, value.size() - 2));
      attribute->set_type(onnx::AttributeProto::INTS);
      attribute->mutable_ints()->Add(numbers.begin(), numbers.end());
    } else if (const std::optional<int64_t> integer = Number<int64_t>(value)) {
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(*integer);
    } else if (const std::optional<float> number = Number<float>(value)) {
      attribute->set_type(onnx::AttributeProto::FLOAT);
      attribute->set_f(*number);
    } else {
      attribute->set_type(onnx::AttributeProto::STRING);
      attribute->set_s(std::string(value));
    }
  }
}

class CaseBuilder {
 public:
  explicit CaseBuilder(const OperatorCase& one) : one_(one), op_(one.op) {
    made_.model.mutable_graph()->set_name("one");
  }

  OperatorModel Build() {
    const std::string_view size = one_.row->sizes[one_.size];
    const size_t semicolon = size.find(';');
    onnx::NodeProto node;
    node.set_op_type(op_.name);
    node.set_domain(op_.domain);
    node.set_name(op_.name);
    for (const std::string_view text : Split(size.substr(0, semicolon), ' ')) {
      const Argument argument(text, one_.type);
      node.add_input(argument.present ? AddArgument(argument) : "");
    }
    AddAttributes(one_.row->attributes, &node);
    if (semicolon != size.npos) AddAttributes(size.substr(semicolon + 1), &node);
    std::vector<std::string> quantized;
    for (const std::string_view type : Split(one_.row->outputs, ' ')) {
      const std::string name = "y" + std::to_string(node.output_size());
      if (type == "-") {
        node.add_output("");
        continue;
      }
      const bool quantize = op_.quantized && type == "T";
      node.add_output(quantize ? name + "_float" : name);
      AddOutput(name, type == "T" ? ElementType(one_.type) : ElementType(type));
      if (quantize) quantized.push_back(name);
    }
    *graph().add_node() = node;
    for (const std::string& name : quantized) AddQuantize(name);

    StampModel(&made_.model, op_.opset);
    if (op_.opset > 20) made_.model.set_ir_version(10);
    AddImport("", op_.opset);
    if (!op_.domain.empty()) AddImport(op_.domain, 1);
    return std::move(made_);
  }

 private:
  onnx::GraphProto& graph() { return *made_.model.mutable_graph(); }

  void AddImport(const std::string& domain, int version) {
    onnx::OperatorSetIdProto* import = made_.model.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }

  static void SetType(onnx::ValueInfoProto* info, const std::string& name, Elem type) {
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  }

  void AddOutput(const std::string& name, Elem type) { SetType(graph().add_output(), name, type); }

  std::string AddArgument(const Argument& argument) {
    const std::string name = "x" + std::to_string(argument_count_++);
    if (op_.quantized && argument.of_row_type) return AddDequantized(name, argument);
    if (op_.quantized && argument.type == onnx::TensorProto::INT32 && argument.initializer)
      return AddBias(name, argument);
    Add(name, argument);
    return name;
  }

  void Add(const std::string& name, const Argument& argument) {
    onnx::TensorProto tensor = Tensor(name, argument);
    if (argument.initializer) {
      graph().add_initializer()->Swap(&tensor);
      return;
    }
    onnx::ValueInfoProto* info = graph().add_input();
    SetType(info, name, argument.type);
    for (const int64_t dim : argument.dims) {
      info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
    }
    info->mutable_type()->mutable_tensor_type()->mutable_shape();  // a scalar has a shape without dimensions
    made_.inputs.push_back(std::move(tensor));
  }

  // Activations have the row's type and a zero point in the middle. Weights are int8 with zero point 0; those of Conv
  // have a scale for each output channel.
  std::string AddDequantized(const std::string& name, Argument argument) {
    if (!argument.initializer) {
      Add(name, argument);
      return Dequantize(name, argument.type, {}, kActivationScale, MiddleOf(argument.type));
    }
    argument.type = onnx::TensorProto::INT8;
    Add(name, argument);
    return Dequantize(name, argument.type, ChannelDims(argument.dims.front()), kWeightScale, 0);
  }

  std::string AddBias(const std::string& name, const Argument& argument) {
    Add(name, argument);
    return Dequantize(name, argument.type, ChannelDims(argument.dims.front()), kActivationScale * kWeightScale, 0);
  }

  Dims ChannelDims(int64_t channels) const { return op_.name == "Conv" ? Dims{channels} : Dims{}; }

  static double MiddleOf(Elem type) { return type == onnx::TensorProto::UINT8 ? 128 : 0; }

  std::string Dequantize(const std::string& name, Elem type, const Dims& dims, double scale, double zero_point) {
    const size_t count = dims.empty() ? 1 : static_cast<size_t>(dims.front());
    *graph().add_initializer() =
        Tensor(name + "_scale", onnx::TensorProto::FLOAT, dims, std::vector<double>(count, scale));
    *graph().add_initializer() = Tensor(name + "_zero", type, dims, std::vector<double>(count, zero_point));
    onnx::NodeProto* node = graph().add_node();
    node->set_op_type("DequantizeLinear");
    node->set_name(name + "_dequantize");
    for (const char* part : {"", "_scale", "_zero"}) node->add_input(name + part);
    node->add_output(name + "_float");
    if (!dims.empty()) AddAttributes("axis=0", node);
    return node->output(0);
  }

  void AddQuantize(const std::string& name) {
    const Elem type = ElementType(one_.type);
    *graph().add_initializer() = Tensor(name + "_scale", onnx::TensorProto::FLOAT, {}, {kOutputScale});
    *graph().add_initializer() = Tensor(name + "_zero", type, {}, {MiddleOf(type)});
    onnx::NodeProto* node = graph().add_node();
    node->set_op_type("QuantizeLinear");
    node->set_name(name + "_quantize");
    for (const char* part : {"_float", "_scale", "_zero"}) node->add_input(name + part);
    node->add_output(name);
  }

  static constexpr double kActivationScale = 0.02, kWeightScale = 0.005, kOutputScale = 0.05;

  const OperatorCase& one_;
  OperatorName op_;
  OperatorModel made_;
  int argument_count_ = 0;
};

// Returns the dims of the first two inputs that have some: "1x64x56x56_64x64x3x3". If none has, returns their values:
// "0_128_1".
std::string SizeName(std::string_view size, std::string_view type) {
  std::string name, numbers;
  int named = 0;
  for (const std::string_view text : Split(size.substr(0, size.find(';')), ' ')) {
    const Argument argument(text, type);
    if (argument.dims.empty()) numbers += (numbers.empty() ? "" : "_") + std::string(text.substr(text.find('=') + 1));
    if (argument.dims.empty() || named++ >= 2) continue;
    if (!name.empty()) name += '_';
    for (size_t i = 0; i < argument.dims.size(); ++i) name += (i == 0 ? "" : "x") + std::to_string(argument.dims[i]);
  }
  return name.empty() ? numbers : name;
}

}  // namespace

std::vector<OperatorCase> OperatorCases() {
  std::vector<OperatorCase> cases;
  for (const OperatorRow* row : operators::AllRows()) {
    for (const std::string_view op : Split(row->operators, ' ')) {
      for (const std::string_view type : Split(row->types, ' ')) {
        for (size_t size = 0; size < row->sizes.size(); ++size) {
          if (row->sizes[size].empty()) Fail("fewer than three sizes", row->operators);
          std::string name = std::string(op) + '/' + std::string(type) + '/' + SizeName(row->sizes[size], type);
          cases.push_back({std::move(name), row, op, type, size});
        }
      }
    }
  }
  return cases;
}

OperatorModel MakeOperatorModel(const OperatorCase& one) { return CaseBuilder(one).Build(); }

}  // namespace epiphyte::test
