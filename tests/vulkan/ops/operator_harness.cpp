#include "tests/vulkan/ops/operator_harness.h"

#include <cstring>
#include <random>

#include "epiphyte/kit/shape/float_types.hpp"
#include "tests/framework/onnx_text.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test {
namespace {

template <typename T>
void Fill(core::Value& value, const std::vector<double>& numbers) {
  auto* to = static_cast<T*>(value.mutable_data());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if constexpr (std::is_arithmetic_v<T>)
      to[i] = static_cast<T>(numbers[i]);
    else
      to[i] = T(static_cast<float>(numbers[i]));
  }
}

bool IsUnsigned(DataType type) {
  return type == DataType::kUint8 || type == DataType::kUint16 || type == DataType::kUint32 ||
         type == DataType::kUint64;
}

std::string Model(std::string_view text, const OperatorRun& run) {
  return OnnxFromText("<ir_version: 8, opset_import: [\"\" : " + std::to_string(run.opset) + run.imports + "]> " +
                      std::string(text));
}

core::SessionOptions Options(const std::string& provider, const std::map<std::string, std::string>& options) {
  core::SessionOptions session;
  session.thread_count = 1;
  session.providers.push_back({provider, options});
  return session;
}

// The environment that all tests of the program share. One session keeps its device open between tests, because the
// driver's compiled code lives as long as the device. Under GPU-assisted validation this saves nearly all of the time:
// a kernel's instrumented code takes the driver seconds to compile, and milliseconds to run.
class OpenDevice final : public testing::Environment {
 public:
  // Returns the environment; null if there is no device.
  core::Environment* Get() {
    if (environment_ == nullptr && vulkan::PinLavapipe()) {
      environment_ = BuildTreeEnvironment();
      const std::string bytes = Model("g (float[1] x) => (float[1] y) { y = Relu(x) }", {});
      keeper_ = std::make_unique<core::Session>(*environment_, bytes.data(), bytes.size(), Options("vulkan", {}));
    }
    return environment_.get();
  }
  void TearDown() override {
    keeper_.reset();
    environment_.reset();
  }

 private:
  std::unique_ptr<core::Environment> environment_;
  std::unique_ptr<core::Session> keeper_;
};

OpenDevice& TheOpenDevice() {
  static auto* const device = static_cast<OpenDevice*>(testing::AddGlobalTestEnvironment(new OpenDevice));
  return *device;
}
const OpenDevice& registered = TheOpenDevice();  // constructed before the tests begin

}  // namespace

ValuePtr Numbers(DataType type, std::vector<int64_t> dims, const std::vector<double>& values) {
  ValuePtr value = core::Value::Tensor(type, dims);
  switch (type) {
    case DataType::kFloat: Fill<float>(*value, values); break;
    case DataType::kDouble: Fill<double>(*value, values); break;
    case DataType::kFloat16: Fill<kit::Float16>(*value, values); break;
    case DataType::kBfloat16: Fill<kit::BFloat16>(*value, values); break;
    case DataType::kInt8: Fill<int8_t>(*value, values); break;
    case DataType::kInt16: Fill<int16_t>(*value, values); break;
    case DataType::kInt32: Fill<int32_t>(*value, values); break;
    case DataType::kInt64: Fill<int64_t>(*value, values); break;
    case DataType::kUint8:
    case DataType::kBool: Fill<uint8_t>(*value, values); break;
    case DataType::kUint16: Fill<uint16_t>(*value, values); break;
    case DataType::kUint32: Fill<uint32_t>(*value, values); break;
    case DataType::kUint64: Fill<uint64_t>(*value, values); break;
    default: throw std::invalid_argument("numbers of that type can't be made");
  }
  return value;
}

ValuePtr Random(DataType type, std::vector<int64_t> dims, uint32_t seed) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::minstd_rand random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<double>(random() / 16 % 17);
    values.push_back(type == DataType::kBool ? static_cast<int>(number) % 2 : IsUnsigned(type) ? number : number - 8);
  }
  return Numbers(type, std::move(dims), values);
}

void OperatorTest::SetUp() {
  environment_ = TheOpenDevice().Get();
  if (environment_ == nullptr) GTEST_SKIP() << vulkan::kNoLavapipe;
}

std::vector<ValuePtr> OperatorTest::RunVulkan(std::string_view model, const std::vector<ValuePtr>& inputs,
                                              const OperatorRun& run) {
  const std::string bytes = Model(model, run);
  std::map<std::string, std::string> options = run.options;
  options.try_emplace("prefer", vulkan::TestPreference());
  core::Session session(*environment_, bytes.data(), bytes.size(), Options("vulkan", options));
  for (const core::NodePlacement& node : session.placement().nodes) {
    std::string why;
    for (const core::Decline& decline : node.declines) why += decline.provider + ": " + decline.reason + "; ";
    EXPECT_EQ(node.provider, "vulkan") << node.op_type << ": " << why;
  }
  EXPECT_FALSE(session.placement().nodes.empty()) << "nothing was left to run";
  const std::vector<ValuePtr> first = session.Run(inputs);
  std::vector<ValuePtr> second = session.Run(inputs);
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(conformance::CompareValues(*second[i], *first[i], {.relative = 0, .absolute = 0}).difference, "")
        << "output " << i << " of the second run";
  return second;
}

std::vector<ValuePtr> OperatorTest::RunCpu(std::string_view model, const std::vector<ValuePtr>& inputs,
                                           const OperatorRun& run) {
  const std::string bytes = Model(model, run);
  core::Session session(*environment_, bytes.data(), bytes.size(), Options("cpu", {}));
  return session.Run(inputs);
}

void OperatorTest::ExpectLikeCpu(std::string_view model, const std::vector<ValuePtr>& inputs, const OperatorRun& run) {
  const std::vector<ValuePtr> expected = RunCpu(model, inputs, run);
  const std::vector<ValuePtr> found = RunVulkan(model, inputs, run);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(conformance::CompareValues(*found[i], *expected[i], run.tolerance).difference, "") << "output " << i;
}

std::string OperatorTest::WhyNot(std::string_view model, const OperatorRun& run) {
  const std::string bytes = Model(model, run);
  core::SessionOptions options = Options("vulkan", run.options);
  options.providers.push_back({"cpu", {}});
  core::Session session(*environment_, bytes.data(), bytes.size(), options);
  for (const core::NodePlacement& node : session.placement().nodes) {
    if (node.provider == "vulkan") continue;
    for (const core::Decline& decline : node.declines)
      if (decline.provider == "vulkan") return decline.reason;
    return "no reason";
  }
  return "";
}

}  // namespace epiphyte::test
