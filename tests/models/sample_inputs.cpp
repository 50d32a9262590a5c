#include "tests/models/sample_inputs.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/models/random_weights.h"
#include "tests/models/variants/variant.h"

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

// Makes the tensors of one run. Every index has its own random numbers.
class Sampler {
 public:
  explicit Sampler(uint64_t index) : index_(index), suffix_(index == 0 ? "" : " #" + std::to_string(index)) {}

  onnx::TensorProto Floats(const std::string& name, const Dims& dims) const {
    return Tensor(name, dims, onnx::TensorProto::FLOAT, RandomFloats(name, dims, 1, 0));
  }

  template <typename Function>
  onnx::TensorProto Ints(const std::string& name, const Dims& dims, Function value_of) const {
    // The numbers are uniform in [0, 1): mean 1/2, standard deviation 1/sqrt(12).
    const std::vector<float> unit = RandomFloats(name, dims, 0.288675f, 0.5f);
    onnx::TensorProto tensor = Tensor(name, dims, onnx::TensorProto::INT64, {});
    std::vector<int64_t> values;
    for (size_t i = 0; i < unit.size(); ++i) values.push_back(value_of(i, unit[i]));
    tensor.set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
    return tensor;
  }

  // Index 0 is noise. Other indices show one of kImageScenes scenes (colours and stripes) with their own noise added.
  onnx::TensorProto Image(const std::string& name, int64_t size) const {
    if (index_ == 0) return Floats(name, {1, 3, size, size});
    constexpr size_t kWaves = 4;
    const Sampler scene(1 + index_ % kImageScenes);
    const auto parameters = scene.RandomFloats(name + " waves", {kWaves, 8}, 1, 0);
    const auto colour = scene.RandomFloats(name + " colour", {3}, 0.8f, 0);
    std::vector<float> pixels = RandomFloats(name, {3, size, size}, 0.2f, 0);
    const auto side = static_cast<size_t>(size);
    for (size_t wave = 0; wave < kWaves; ++wave) {
      const float* p = &parameters[wave * 8];
      const float turns = std::exp2(2 + p[0]) / static_cast<float>(size);  // turns for each pixel along the wave
      const float right = std::cos(p[1] * 1.8f), down = std::sin(p[1] * 1.8f);
      for (size_t i = 0; i < side * side; ++i) {
        const float x = static_cast<float>(i % side), y = static_cast<float>(i / side);
        const float angle = 6.2831853f * turns * (x * right + y * down) + p[2] * 3;
        const float height = std::sin(angle);
        for (size_t channel = 0; channel < 3; ++channel)
          pixels[channel * side * side + i] += 0.6f * p[3 + channel] * height + (wave == 0 ? colour[channel] : 0);
      }
    }
    return Tensor(name, {1, 3, size, size}, onnx::TensorProto::FLOAT, pixels);
  }

  onnx::TensorProto Tokens(const std::string& name, const Dims& dims, int64_t vocabulary) const {
    return Ints(name, dims, [vocabulary](size_t, float unit) {
      const int64_t token = static_cast<int64_t>(unit * static_cast<float>(vocabulary));
      return std::min(std::max(token, int64_t{0}), vocabulary - 1);
    });
  }

 private:
  std::vector<float> RandomFloats(const std::string& name, const Dims& dims, float deviation, float mean) const {
    const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    std::vector<float> values(static_cast<size_t>(count));
    FillRandom("sample input " + name + suffix_, deviation, mean, values);
    return values;
  }

  uint64_t index_;
  std::string suffix_;
};

std::vector<onnx::TensorProto> InputsOf(std::string_view name, const Sampler& sampler) {
  constexpr int64_t kSequence = 128, kPadding = 28;
  for (const std::string_view classifier :
       {"resnet50", "mobilenetv2", "squeezenet1.1", "densenet121", "shufflenetv2", "efficientnet_b0", "vit_s16"}) {
    if (name == classifier) return {sampler.Image("image", 224)};
  }
  if (name == "inceptionv3") return {sampler.Image("image", 299)};
  if (name == "unet") return {sampler.Image("image", 256)};
  if (name == "wake_word") return {sampler.Floats("features", {1, 16, 96})};
  if (name == "whisper_encoder") return {sampler.Floats("input_features", {1, 80, 3000})};
  if (name == "whisper_decoder") {
    std::vector<onnx::TensorProto> inputs = {sampler.Tokens("input_ids", {1, 1}, 51865)};
    for (int layer = 0; layer < 4; ++layer) {
      const std::string past = "past_key_values." + std::to_string(layer);
      inputs.push_back(sampler.Floats(past + ".decoder.key", {1, 6, 63, 64}));
      inputs.push_back(sampler.Floats(past + ".decoder.value", {1, 6, 63, 64}));
      inputs.push_back(sampler.Floats(past + ".encoder.key", {1, 6, 1500, 64}));
      inputs.push_back(sampler.Floats(past + ".encoder.value", {1, 6, 1500, 64}));
    }
    return inputs;
  }
  if (name == "bert_base") {
    return {
        sampler.Tokens("input_ids", {1, kSequence}, 30522),
        sampler.Ints("attention_mask", {1, kSequence},
                     [](size_t i, float) { return int64_t{i < kSequence - kPadding}; }),
        sampler.Ints("token_type_ids", {1, kSequence}, [](size_t i, float) { return int64_t{i >= kSequence / 2}; })};
  }
  if (name == "llama_prefill") return {sampler.Tokens("input_ids", {1, 64}, 16000)};
  if (name == "llama_decode") {
    std::vector<onnx::TensorProto> inputs = {sampler.Tokens("input_ids", {1, 1}, 16000)};
    for (int layer = 0; layer < 8; ++layer) {
      inputs.push_back(sampler.Floats("past." + std::to_string(layer) + ".key", {1, 4, 64, 64}));
      inputs.push_back(sampler.Floats("past." + std::to_string(layer) + ".value", {1, 4, 64, 64}));
    }
    return inputs;
  }
  if (name == "lstm_tagger") return {sampler.Tokens("tokens", {40, 1}, 5000)};
  if (name == "detector_tail")
    return {sampler.Floats("box_offsets", {1, 512, 4}), sampler.Floats("class_logits", {1, 512, 4})};
  if (name == "control_flow") return {sampler.Floats("x", {4, 8})};
  if (name == "voice_activity") {
    return {sampler.Floats("audio", {1, 512}), sampler.Ints("rate", {}, [](size_t, float) { return int64_t{16000}; }),
            sampler.Floats("h", {2, 1, 64}), sampler.Floats("c", {2, 1, 64})};
  }
  if (name == "text_recogniser") return {sampler.Floats("image", {1, 3, 48, 320})};
  if (name == "tiny_add") return {sampler.Floats("x", {4}), sampler.Floats("y", {4})};
  if (name.starts_with("chain_")) return {sampler.Floats("x", {4})};
  throw std::invalid_argument("no sample inputs are known for a model named '" + std::string(name) + "'");
}

}  // namespace

std::vector<onnx::TensorProto> SampleInputs(std::string_view name, uint64_t index) {
  constexpr std::string_view kQuantized = "_qdq";
  if (name.ends_with(kQuantized)) name.remove_suffix(kQuantized.size());
  const auto [base, variant] = SplitVariant(name);
  std::vector<onnx::TensorProto> inputs = InputsOf(base, Sampler(index));
  if (variant != nullptr && variant->input != nullptr) {
    for (onnx::TensorProto& input : inputs) variant->input(&input);
  }
  return inputs;
}

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
