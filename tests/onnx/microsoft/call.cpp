#include "tests/onnx/microsoft/call.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "core/onnx/infer/inference.h"
#include "core/runtime/session.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test::microsoft {
namespace {

size_t Offset(const Dims& dims, const Dims& index) {
  size_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    offset = offset * static_cast<size_t>(dims[i]) + (dims[i] == 1 ? 0 : static_cast<size_t>(index.at(i)));
  return offset;
}

double FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, std::min(exponent, 40) - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

// Rounds to half. `number` must be 0 or within the range of half.
uint16_t ToHalf(double number) {
  if (number == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(number), &exponent);
  auto steps = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
  if (exponent < -13) {
    steps = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(number), 24)));
    return static_cast<uint16_t>((number < 0 ? 0x8000 : 0) | steps);
  }
  return static_cast<uint16_t>((number < 0 ? 0x8000 : 0) | (((exponent + 13) << 10) + steps));
}

template <typename T>
void Append(std::string* bytes, T value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string BytesOf(const Array& x) {
  std::string bytes;
  for (const double number : x.numbers) {
    switch (x.type) {
      case DataType::kFloat: Append(&bytes, static_cast<float>(number)); break;
      case DataType::kDouble: Append(&bytes, number); break;
      case DataType::kFloat16: Append(&bytes, ToHalf(number)); break;
      case DataType::kInt64: Append(&bytes, static_cast<int64_t>(number)); break;
      case DataType::kInt32: Append(&bytes, static_cast<int32_t>(number)); break;
      case DataType::kUint16: Append(&bytes, static_cast<uint16_t>(number)); break;
      case DataType::kInt16: Append(&bytes, static_cast<int16_t>(number)); break;
      case DataType::kInt8: Append(&bytes, static_cast<int8_t>(number)); break;
      case DataType::kUint8:
      case DataType::kBool: Append(&bytes, static_cast<uint8_t>(number)); break;
      default: throw std::invalid_argument("a type that the test can't write");
    }
  }
  return bytes;
}

template <typename T>
void Load(const core::Value& value, std::vector<double>* numbers) {
  const T* data = static_cast<const T*>(value.data());
  for (uint64_t i = 0; i < value.element_count(); ++i) numbers->push_back(static_cast<double>(data[i]));
}

}  // namespace

Array FromValue(const core::Value& value) {
  Array x;
  x.type = value.type();
  for (const int64_t dim : value.dims()) x.dims.push_back(dim);
  switch (x.type) {
    case DataType::kFloat: Load<float>(value, &x.numbers); break;
    case DataType::kDouble: Load<double>(value, &x.numbers); break;
    case DataType::kInt64: Load<int64_t>(value, &x.numbers); break;
    case DataType::kInt32: Load<int32_t>(value, &x.numbers); break;
    case DataType::kUint16: Load<uint16_t>(value, &x.numbers); break;
    case DataType::kInt16: Load<int16_t>(value, &x.numbers); break;
    case DataType::kInt8: Load<int8_t>(value, &x.numbers); break;
    case DataType::kUint8: Load<uint8_t>(value, &x.numbers); break;
    case DataType::kFloat16:
      Load<uint16_t>(value, &x.numbers);
      for (double& number : x.numbers) number = FromHalf(static_cast<uint16_t>(number));
      break;
    default: throw std::invalid_argument("a type that the test can't read");
  }
  return x;
}

core::ValuePtr ToValue(const Array& x) {
  core::ValuePtr value = core::Value::Tensor(x.type, x.dims);
  const std::string bytes = BytesOf(x);
  if (!bytes.empty()) std::memcpy(value->mutable_data(), bytes.data(), bytes.size());
  return value;
}

int64_t Array::count() const { return static_cast<int64_t>(numbers.size()); }
double Array::At(const Dims& index) const { return numbers.at(Offset(dims, index)); }
double& Array::Ref(const Dims& index) { return numbers.at(Offset(dims, index)); }

Array Make(Dims dims, const std::function<double(const Dims&)>& function, DataType type) {
  Array x{std::move(dims), {}, type};
  int64_t count = 1;
  for (const int64_t dim : x.dims) count *= dim;
  Dims index(x.dims.size());
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n;
    for (size_t i = index.size(); i-- > 0; rest /= x.dims[i]) index[i] = rest % x.dims[i];
    x.numbers.push_back(function(index));
  }
  return x;
}

Array Of(Dims dims, std::vector<double> numbers, DataType type) { return {std::move(dims), std::move(numbers), type}; }
Array Scalar(double number, DataType type) { return {{}, {number}, type}; }

Array Random(Dims dims, double low, double high, DataType type, uint32_t seed) {
  std::mt19937 engine(seed);
  const auto draw = [&](const Dims&) { return low + (high - low) * (engine() / 4294967296.0); };
  return As(Make(std::move(dims), draw), type);
}

Array RandomIntegers(Dims dims, int64_t low, int64_t high, DataType type, uint32_t seed) {
  std::mt19937 engine(seed);
  const auto draw = [&](const Dims&) {
    return static_cast<double>(low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1)));
  };
  return Make(std::move(dims), draw, type);
}

Array Each(Array x, const std::function<double(double)>& function) {
  for (double& number : x.numbers) number = function(number);
  return x;
}

Array As(Array x, DataType type) {
  x.type = type;
  for (double& number : x.numbers) {
    if (type == DataType::kFloat) number = static_cast<float>(number);
    if (type == DataType::kFloat16) number = FromHalf(ToHalf(number));
  }
  return x;
}

Call::Call(std::string op_type, std::string domain) : op_type_(std::move(op_type)), domain_(std::move(domain)) {}

Call& Call::In(Array x) {
  inputs_.push_back({std::move(x), false, true});
  return *this;
}
Call& Call::Weights(Array x) {
  inputs_.push_back({std::move(x), true, true});
  return *this;
}
Call& Call::Absent() {
  inputs_.emplace_back();
  return *this;
}
Call& Call::Unshaped() {
  inputs_.back().shaped = false;
  return *this;
}
Call& Call::Int(const std::string& name, int64_t value) {
  attributes_.push_back(core::Attribute::Int(name, value));
  return *this;
}
Call& Call::Float(const std::string& name, float value) {
  attributes_.push_back(core::Attribute::Float(name, value));
  return *this;
}
Call& Call::String(const std::string& name, const std::string& value) {
  attributes_.push_back(core::Attribute::String(name, value));
  return *this;
}
Call& Call::Ints(const std::string& name, std::vector<int64_t> values) {
  attributes_.push_back(core::Attribute::Ints(name, std::move(values)));
  return *this;
}
Call& Call::FloatList(const std::string& name, std::vector<float> values) {
  attributes_.push_back(core::Attribute::Floats(name, std::move(values)));
  return *this;
}
Call& Call::Outputs(std::vector<bool> wanted) {
  outputs_ = std::move(wanted);
  return *this;
}

std::string Call::Model(const RunAs& how) const {
  ProtoModel model(how.opset, how.opset >= 21 ? 10 : 8);
  model.Opset("com.microsoft", 1);
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    inputs.push_back(input.array ? "x" + std::to_string(i) : "");
    if (!input.array) continue;
    const auto element = static_cast<int32_t>(input.array->type);
    if (input.constant) {
      model.Initializer(inputs.back(), element, input.array->dims).set_raw_data(BytesOf(*input.array));
      continue;
    }
    std::vector<std::string> dims;
    for (size_t d = 0; d < input.array->dims.size(); ++d) {
      dims.push_back(how.open ? inputs.back() + "_" + std::to_string(d) : std::to_string(input.array->dims[d]));
    }
    model.Input(inputs.back(), element, dims);
    if (!input.shaped)
      model.graph().mutable_input(model.graph().input_size() - 1)->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back(outputs_[i] ? "y" + std::to_string(i) : "");
    if (outputs_[i]) model.Output(outputs.back());
  }
  onnx::NodeProto& node = model.Node(op_type_, inputs, outputs, domain_);
  node.set_name("call");
  for (const core::Attribute& attribute : attributes_) {
    onnx::AttributeProto& proto = *node.add_attribute();
    proto.set_name(attribute.name());
    proto.set_type(static_cast<onnx::AttributeProto_AttributeType>(attribute.type()));
    switch (attribute.type()) {
      case core::AttributeType::kInt: proto.set_i(attribute.i()); break;
      case core::AttributeType::kFloat: proto.set_f(attribute.f()); break;
      case core::AttributeType::kString: proto.set_s(attribute.s()); break;
      case core::AttributeType::kInts:
        for (const int64_t value : attribute.ints()) proto.add_ints(value);
        break;
      default:
        for (const float value : attribute.floats()) proto.add_floats(value);
    }
  }
  return model.Bytes();
}

Arrays Call::Run(const RunAs& how) const {
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  const std::string bytes = Model(how);
  std::vector<std::string> providers = {how.provider};
  if (how.provider != "cpu") providers.emplace_back("cpu");
  std::vector<core::ValuePtr> inputs, outputs;
  for (const Input& input : inputs_)
    if (input.array && !input.constant) inputs.push_back(ToValue(*input.array));
  if (how.context) {
    const TempDir dir;
    const auto path = dir.Write("model.onnx", bytes);
    core::SessionOptions compile = OptionsFor(providers);
    compile.Set("ep.context_enable", "1");
    core::Session(*environment, path, core::SessionConfig(compile));
    core::Session session(*environment, dir / "model_ctx.onnx", core::SessionConfig(OptionsFor(providers)));
    EXPECT_TRUE(session.has_context());
    outputs = session.Run(inputs);
  } else {
    core::Session session(*environment, bytes.data(), bytes.size(), core::SessionConfig(OptionsFor(providers)));
    outputs = session.Run(inputs);
  }
  Arrays found;
  for (const core::ValuePtr& output : outputs) found.push_back(FromValue(*output));
  return found;
}

std::string Call::Failure(const RunAs& how) const {
  return FailureOf([&] { Run(how); });
}

std::vector<std::string> Call::Body(const RunAs& how) const {
  core::Model model = ProtoModel::ReadBytes(Model(how));
  core::InlineFunctions(model, [](const core::Node&) { return false; });
  std::vector<std::string> operators;
  for (const auto& node : model.graph->nodes())
    if (node->op_type() != "Constant") operators.push_back(node->op_type());
  return operators;
}

void ExpectNear(const Array& found, const Array& expected, double tolerance) {
  ASSERT_EQ(found.dims, expected.dims);
  EXPECT_EQ(core::DataTypeName(found.type), core::DataTypeName(expected.type));
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < found.numbers.size(); ++i) {
    const double difference = std::fabs(found.numbers[i] - expected.numbers[i]);
    if (difference <= worst) continue;
    worst = difference;
    where = i;
    if (std::isnan(difference)) break;
  }
  if (!(worst <= tolerance)) {
    EXPECT_EQ(found.numbers[where], expected.numbers[where]) << "element " << where;
  }
}

}  // namespace epiphyte::test::microsoft
