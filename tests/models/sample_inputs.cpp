#include "tests/models/sample_inputs.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/models/random_weights.h"

namespace epiphyte::test {
namespace {

using Dims = std::vector<int64_t>;

onnx::TensorProto Tensor(const std::string& name, const Dims& dims, onnx::TensorProto::DataType type,
                         const std::vector<float>& unit) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_raw_data(reinterpret_cast<const char*>(unit.data()), unit.size() * sizeof(float));
  return tensor;
}

std::vector<float> RandomFloats(const std::string& name, const Dims& dims, float deviation, float mean) {
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<size_t>(count));
  FillRandom("sample input " + name, deviation, mean, values);
  return values;
}

onnx::TensorProto Floats(const std::string& name, const Dims& dims) {
  return Tensor(name, dims, onnx::TensorProto::FLOAT, RandomFloats(name, dims, 1, 0));
}

template <typename Function>
onnx::TensorProto Ints(const std::string& name, const Dims& dims, Function value_of) {
  // Uniform in [0, 1): mean 1/2, deviation 1/sqrt(12).
  const std::vector<float> unit = RandomFloats(name, dims, 0.288675f, 0.5f);
  onnx::TensorProto tensor = Tensor(name, dims, onnx::TensorProto::INT64, {});
  std::vector<int64_t> values;
  for (size_t i = 0; i < unit.size(); ++i) values.push_back(value_of(i, unit[i]));
  tensor.set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
  return tensor;
}

onnx::TensorProto Tokens(const std::string& name, const Dims& dims, int64_t vocabulary) {
  return Ints(name, dims, [vocabulary](size_t, float unit) {
    const int64_t token = static_cast<int64_t>(unit * static_cast<float>(vocabulary));
    return std::min(std::max(token, int64_t{0}), vocabulary - 1);
  });
}

std::vector<onnx::TensorProto> SampleInputs(std::string_view name) {
  constexpr int64_t kSequence = 128, kPadding = 28;
  if (name == "resnet50" || name == "mobilenetv2" || name == "squeezenet1.1") {
    return {Floats("image", {1, 3, 224, 224})};
  }
  if (name == "bert_base") {
    return {Tokens("input_ids", {1, kSequence}, 30522),
            Ints("attention_mask", {1, kSequence}, [](size_t i, float) { return int64_t{i < kSequence - kPadding}; }),
            Ints("token_type_ids", {1, kSequence}, [](size_t i, float) { return int64_t{i >= kSequence / 2}; })};
  }
  if (name == "llama_prefill") return {Tokens("input_ids", {1, 64}, 16000)};
  if (name == "llama_decode") {
    std::vector<onnx::TensorProto> inputs = {Tokens("input_ids", {1, 1}, 16000)};
    for (int layer = 0; layer < 8; ++layer) {
      inputs.push_back(Floats("past." + std::to_string(layer) + ".key", {1, 4, 64, 64}));
      inputs.push_back(Floats("past." + std::to_string(layer) + ".value", {1, 4, 64, 64}));
    }
    return inputs;
  }
  if (name == "lstm_tagger") return {Tokens("tokens", {40, 1}, 5000)};
  if (name == "detector_tail") return {Floats("box_offsets", {1, 512, 4}), Floats("class_logits", {1, 512, 4})};
  if (name == "control_flow") return {Floats("x", {4, 8})};
  if (name == "tiny_add") return {Floats("x", {4}), Floats("y", {4})};
  if (name.starts_with("chain_")) return {Floats("x", {4})};
  throw std::invalid_argument("no sample inputs are known for a model named '" + std::string(name) + "'");
}

}  // namespace

std::filesystem::path WriteSampleInputs(std::string_view name, const std::filesystem::path& folder) {
  const std::vector<onnx::TensorProto> inputs = SampleInputs(name);
  const std::filesystem::path inputs_folder = folder / (std::string(name) + ".inputs");
  std::filesystem::create_directories(inputs_folder);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::filesystem::path path = inputs_folder / ("input_" + std::to_string(i) + ".pb");
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    if (!stream || !inputs[i].SerializeToOstream(&stream) || !stream.flush()) {
      throw std::runtime_error("can't write " + path.string() + "; is the disk full?");
    }
  }
  return inputs_folder;
}

}  // namespace epiphyte::test
