#include "tests/cpu/levels/level_models.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/onnx/write/tensor_io.h"
#include "core/runtime/session.h"
#include "host/conformance/graphs/float_formats.h"
#include "tests/framework/test_session.h"
#include "tests/models/builder.h"
#include "tests/models/models.h"
#include "tests/models/random_weights.h"
#include "tests/models/sample_inputs.h"
#include "tests/models/variants/variant.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test::levels {
namespace {

namespace fs = std::filesystem;

// Bounds. Sums of floats are split differently at each level. With 16-bit types the values between nodes are rounded,
// too. A sum near the border between two 8-bit numbers may be rounded to either.
constexpr double kFloat = 5e-6;
constexpr double kFloat16 = 2e-3;
constexpr double kBfloat16 = 2e-2;
constexpr double kBytes = 1e-2;

constexpr LevelModel kModels[] = {
    {"recogniser", "text_recogniser", "f32", kFloat},
    {"tagger", "lstm_tagger", "f32", kFloat},
    {"mlp", "mlp", "f32", kFloat},
    {"recogniser_f16", "text_recogniser_f16", "f32", kFloat16},
    {"mlp_f16", "mlp_f16", "f32", kFloat16},
    {"recogniser_bf16", "text_recogniser", "bf16", kBfloat16, "recogniser"},
    {"mlp_bf16", "mlp", "bf16", kBfloat16, "mlp"},
    {"recogniser_qdq", "text_recogniser_qdq", "f32", kBytes},
    {"recogniser_int8", "text_recogniser_int8", "f32", kBytes},
    {"mlp_int8", "mlp_int8", "f32", kBytes},
    {"mlp_int8_dynamic", "mlp", "int8-dynamic", kBytes},
    {"mlp_int4", "mlp_int4", "f32", kFloat},
};

constexpr int64_t kRows = 24, kIn = 256, kHidden = 320, kOut = 96;

// Two matrix products with a normalization before them and a Softmax after them.
onnx::ModelProto BuildMlp() {
  GraphBuilder graph("mlp");
  std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {"rows", kIn});
  x = graph.Node("LayerNormalization", {x, graph.Random("scale", {kIn}, 0.1f, 1), graph.Random("shift", {kIn}, 0.1f)});
  x = graph.Node("MatMul", {x, graph.Random("w1", {kIn, kHidden}, 0.06f)});
  x = graph.Node("Tanh", {graph.Node("Add", {x, graph.Random("b1", {kHidden}, 0.1f)})});
  x = graph.Node("MatMul", {x, graph.Random("w2", {kHidden, kOut}, 0.1f)});
  graph.Output(graph.Node("Softmax", {x}, {{"axis", -1}}), "y", onnx::TensorProto::FLOAT, {"rows", kOut});
  return FinishModel(std::move(graph), 17);
}

bool IsMlp(std::string_view name) { return name.starts_with("mlp"); }

std::string MlpBytes(std::string_view name) {
  const Variant* const variant = SplitVariant(name).variant;
  onnx::ModelProto model = BuildMlp();
  return (variant == nullptr ? std::move(model) : variant->apply(std::move(model))).SerializeAsString();
}

core::ValuePtr MlpInput(std::string_view name) {
  onnx::TensorProto tensor;
  for (const int64_t dim : {kRows, kIn}) tensor.add_dims(dim);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::vector<float> values(kRows * kIn);
  FillRandom("x", 1, 0, values);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  const Variant* const variant = SplitVariant(name).variant;
  if (variant != nullptr && variant->input != nullptr) variant->input(&tensor);
  core::ValuePtr value =
      core::Value::Tensor(static_cast<core::DataType>(tensor.data_type()), std::vector<int64_t>{kRows, kIn});
  std::memcpy(value->mutable_data(), tensor.raw_data().data(), tensor.raw_data().size());
  return value;
}

std::vector<double> NumbersOf(const core::Value& value) {
  std::vector<double> numbers;
  const auto read = [&](auto type) {
    using T = decltype(type);
    const T* const data = value.data_as<T>();
    for (uint64_t i = 0; i < value.element_count(); ++i) numbers.push_back(static_cast<double>(data[i]));
  };
  if (value.type() == core::DataType::kFloat) {
    read(float());
  } else if (value.type() == core::DataType::kFloat16) {
    read(conformance::Float16());
  } else {
    throw std::logic_error("outputs of float and float16 expected");
  }
  return numbers;
}

}  // namespace

std::span<const LevelModel> LevelModels() { return kModels; }

fs::path MakeModels(const fs::path& own) {
  const fs::path folder = SharedModels(EPIPHYTE_BINARY_DIR, own);
  std::string names;
  for (const LevelModel& model : kModels)
    if (!IsMlp(model.model)) names += (names.empty() ? "" : ",") + std::string(model.model);
  const std::string command = std::string(EPIPHYTE_BINARY_DIR) + "/bin/epiphyte_make_models --out '" + folder.string() +
                              "' --only " + names + " > /dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("models can't be made: " + command);
  return folder;
}

std::string WriteOutputs(const LevelModel& model, core::Environment& environment, const fs::path& models,
                         const fs::path& outputs) {
  core::SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 2;
  options.provider_options["cpu"] = {{"precision", std::string(model.precision)}};
  std::string difference;
  const std::string failure = FailureOf([&] {
    std::optional<core::Session> session;
    std::vector<core::ValuePtr> inputs;
    if (IsMlp(model.model)) {
      const std::string bytes = MlpBytes(model.model);
      session.emplace(environment, bytes.data(), bytes.size(), options);
      inputs.push_back(MlpInput(model.model));
    } else {
      const std::string name(model.model);
      session.emplace(environment, models / (name + ".onnx"), options);
      inputs = ReadTensorFiles(models / (name + ".inputs"), "input_");
    }
    const core::ValuePtr first = session->Run(inputs)[0], second = session->Run(inputs)[0];
    if (std::memcmp(first->data(), second->data(), first->byte_size()) != 0)
      difference = "a second run gives other bits";
    const auto& output = session->outputs()[0];
    core::WriteValueFile(outputs / (std::string(model.name) + "_0.pb"), *first, *output.type, output.name);
  });
  return failure == "OK" ? difference : failure;
}

double Distance(const LevelModel& model, const fs::path& outputs, const fs::path& baseline) {
  const auto read = [](const fs::path& folder, std::string_view name) {
    const std::vector<core::ValuePtr> values = ReadTensorFiles(folder, std::string(name) + "_");
    if (values.empty()) throw std::runtime_error("no outputs of " + std::string(name) + " in " + folder.string());
    return NumbersOf(*values[0]);
  };
  const std::vector<double> found = read(outputs, model.name);
  const std::vector<double> expected = read(baseline, model.baseline.empty() ? model.name : model.baseline);
  if (found.size() != expected.size()) return HUGE_VAL;
  double largest = 0, farthest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(expected[i]));
    const double difference = std::fabs(found[i] - expected[i]);
    if (!(difference <= HUGE_VAL)) return HUGE_VAL;
    farthest = std::max(farthest, difference);
  }
  return farthest / largest;
}

}  // namespace epiphyte::test::levels
