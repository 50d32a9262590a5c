#include "tests/npu/ep/npu_harness.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/framework/onnx_text.h"

namespace epiphyte::test {
namespace {

int NumberAt(const core::Value& value, size_t i) {
  return value.type() == DataType::kInt8 ? static_cast<const int8_t*>(value.data())[i]
                                         : static_cast<const uint8_t*>(value.data())[i];
}

int64_t CountOf(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

}  // namespace

std::filesystem::path SimulatorLibrary() { return EPIPHYTE_NPUSIM_LIBRARY; }
std::filesystem::path MinimalLibrary() { return EPIPHYTE_MINIMAL_SDK_LIBRARY; }

void* FindHostileFunction(const char* name) {
  void* const library = dlopen(EPIPHYTE_HOSTILE_SDK_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, name);
}

std::string NpuManifest(const std::filesystem::path& sdk) {
  const std::string parameters = sdk.empty() ? "" : "parameters: {sdk: \"" + sdk.string() + "\"}\n";
  return "manifest_version: 1\nname: npu\nvendor: Epiphyte\nversion: " EPIPHYTE_VERSION
         "\nlicense: Apache-2.0\ndescription: NPU\nlibrary: " EPIPHYTE_NPU_LIBRARY
         "\nabi: \"0.2\"\nsources: [EpiphyteNPU]\ndevices: [npu]\npriority: 300\n" +
         parameters;
}

NpuEnvironment::NpuEnvironment(const std::filesystem::path& sdk) {
  core::CatalogOptions options;
  // The build's other plugins are listed one by one, so that its npu plugin can't take the place of one that fails to
  // load.
  const std::filesystem::path others = EPIPHYTE_PLUGIN_FOLDER;
  options.paths = {folder_.Write("npu.yaml", NpuManifest(sdk)), others / "cpu.yaml", others / "vulkan.yaml"};
  options.use_environment = false;
  options.use_user_folder = false;
  options.use_system_folders = false;
  environment_ = std::make_unique<core::Environment>(std::move(options));
}

std::string QuantisedModel(std::string_view text, int opset) {
  return OnnxFromText("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + ", \"com.microsoft\" : 1]> " +
                      std::string(text));
}

std::string NameOf(DataType type) { return type == DataType::kInt8 ? "int8" : "uint8"; }

std::string ShapeText(const std::vector<int64_t>& dims) {
  if (dims.empty()) return "";
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "[" : ",") + std::to_string(dim);
  return text + "]";
}

ValuePtr Numbers::Bytes(DataType type, const std::vector<int64_t>& dims) {
  ValuePtr value = core::Value::Tensor(type, dims);
  auto* bytes = static_cast<uint8_t*>(value->mutable_data());
  for (int64_t i = 0; i < CountOf(dims); ++i) bytes[i] = static_cast<uint8_t>(Pick(0, 255));
  return value;
}

std::string Numbers::BytesText(const std::string& name, DataType type, const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t i = 0; i < CountOf(dims); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(type == DataType::kInt8 ? Pick(-128, 127) : Pick(0, 255));
  return NameOf(type) + ShapeText(dims) + " " + name + " = {" + text + "}";
}

std::string Numbers::ScalesText(const std::string& name, int64_t count, double least, double most) {
  std::ostringstream text;
  text.precision(9);
  for (int64_t i = 0; i < count; ++i) text << (i == 0 ? "" : ", ") << PickScale(least, most);
  return "float" + (count == 1 ? std::string() : ShapeText({count})) + " " + name + " = {" + text.str() + "}";
}

std::string Numbers::ScaleText(const std::string& name, DataType type, double least, double most) {
  return ScalesText(name + "s", 1, least, most) + ", " + BytesText(name + "z", type, {});
}

int Distance(const core::Value& a, const core::Value& b) {
  EXPECT_EQ(a.type(), b.type());
  EXPECT_EQ(a.byte_size(), b.byte_size());
  if (a.type() != b.type() || a.byte_size() != b.byte_size()) return 1000;
  if (a.type() != DataType::kInt8 && a.type() != DataType::kUint8)
    return std::memcmp(a.data(), b.data(), a.byte_size()) == 0 ? 0 : 1000;
  int distance = 0;
  for (size_t i = 0; i < a.byte_size(); ++i) distance = std::max(distance, std::abs(NumberAt(a, i) - NumberAt(b, i)));
  return distance;
}

void NpuTest::SetUp() {
  environment_ = std::make_unique<NpuEnvironment>(IsSimulator() ? SimulatorLibrary() : MinimalLibrary());
}

core::SessionOptions NpuTest::Options(std::vector<std::string> providers) const {
  return OptionsFor(std::move(providers));
}

std::string NpuTest::WhyNot(std::string_view model, const std::map<std::string, std::string>& options) {
  const std::string bytes = QuantisedModel(model);
  core::SessionOptions session_options = Options({"npu", "cpu"});
  session_options.providers[0].options = options;
  core::Session session(environment(), bytes.data(), bytes.size(), session_options);
  for (const core::NodePlacement& node : session.placement().nodes) {
    if (node.provider == "npu") continue;
    for (const core::Decline& decline : node.declines)
      if (decline.provider == "npu") return node.op_type + ": " + decline.reason;
    return "no reason";
  }
  return "";
}

std::vector<ValuePtr> NpuTest::RunNpu(std::string_view model, const std::vector<ValuePtr>& inputs) {
  const std::string bytes = QuantisedModel(model);
  core::Session session(environment(), bytes.data(), bytes.size(), Options());
  for (const core::NodePlacement& node : session.placement().nodes) EXPECT_EQ(node.provider, "npu") << node.op_type;
  EXPECT_FALSE(session.placement().nodes.empty()) << "nothing was left to run";
  const std::vector<ValuePtr> first = session.Run(inputs);
  std::vector<ValuePtr> second = session.Run(inputs);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(Distance(*first[i], *second[i]), 0) << "of two runs";
  return second;
}

std::vector<ValuePtr> NpuTest::RunCpu(std::string_view model, const std::vector<ValuePtr>& inputs) {
  const std::string bytes = QuantisedModel(model);
  core::Session session(environment(), bytes.data(), bytes.size(), Options({"cpu"}));
  return session.Run(inputs);
}

bool NpuTest::CompareWithCpu(std::string_view model, const std::vector<ValuePtr>& inputs, int most) {
  SCOPED_TRACE(std::string(model.substr(0, 4000)));
  if (const std::string why = WhyNot(model); !why.empty()) {
    EXPECT_FALSE(IsSimulator()) << why;
    return false;
  }
  const std::vector<ValuePtr> expected = RunCpu(model, inputs), found = RunNpu(model, inputs);
  EXPECT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size() && i < expected.size(); ++i)
    EXPECT_LE(Distance(*found[i], *expected[i]), most) << "output " << i;
  return true;
}

}  // namespace epiphyte::test
