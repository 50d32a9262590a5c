#include "tests/models/models.h"

#include <unistd.h>

#include <charconv>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/models/architectures.h"
#include "tests/models/builder.h"
#include "tests/models/model_store.h"
#include "tests/models/variants/variant.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

using Build = std::function<onnx::ModelProto()>;

constexpr std::string_view kLlamaPrefill = "llama_prefill";
constexpr std::string_view kLlamaDecode = "llama_decode";

std::optional<int64_t> ChainLength(std::string_view name) {
  constexpr std::string_view kPrefix = "chain_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int64_t length = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), length);
  if (error != std::errc() || end != name.data() + name.size() || length < 1) return std::nullopt;
  return length;
}

struct Architecture {
  std::string_view name;
  onnx::ModelProto (*build)();
};
constexpr Architecture kArchitectures[] = {
    {"resnet50", BuildResNet50},
    {"mobilenetv2", BuildMobileNetV2},
    {"squeezenet1.1", BuildSqueezeNet11},
    {"densenet121", BuildDenseNet121},
    {"inceptionv3", BuildInceptionV3},
    {"shufflenetv2", BuildShuffleNetV2},
    {"efficientnet_b0", BuildEfficientNetB0},
    {"unet", BuildUnet},
    {"vit_s16", BuildVitS16},
    {"bert_base", BuildBertBase},
    {"whisper_encoder", BuildWhisperEncoder},
    {"whisper_decoder", BuildWhisperDecoder},
    {"lstm_tagger", BuildLstmTagger},
    {"voice_activity", BuildVoiceActivity},
    {"text_recogniser", BuildTextRecogniser},
    {"wake_word", BuildWakeWord},
    {"detector_tail", BuildDetectorTail},
    {"control_flow", BuildControlFlow},
    {"tiny_add", BuildTinyAdd},
};

Build FindBuild(std::string_view name) {
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return architecture.build;
  }
  if (name == kLlamaPrefill) return [] { return BuildLlamaWhole(false); };
  if (name == kLlamaDecode) return [] { return BuildLlamaWhole(true); };
  if (const std::optional<int64_t> length = ChainLength(name)) return [length] { return BuildChain(*length); };
  std::string message = "no model is named '" + std::string(name) + "'; known:";
  for (std::string_view known : ModelNames()) message.append(" ").append(known);
  throw std::invalid_argument(message);
}

void WriteLlama(const fs::path& folder) {
  const fs::path weights = folder / "llama.weights";
  const fs::path prefill = ModelPath(kLlamaPrefill, folder);
  const fs::path decode = ModelPath(kLlamaDecode, folder);
  if (fs::exists(weights) && IsCurrent(prefill) && IsCurrent(decode)) return;
  // An existing model must always have its weights, so models are removed before the weights change and written last.
  fs::remove(prefill);
  fs::remove(decode);
  const LlamaModels models = BuildLlama(TemporaryPath(weights));
  fs::rename(TemporaryPath(weights), weights);
  SaveModel(models.prefill, prefill);
  SaveModel(models.decode, decode);
}

}  // namespace

std::span<const std::string_view> ModelNames() {
  // clang-format off
  static constexpr std::string_view kNames[] = {
      "resnet50", "mobilenetv2", "squeezenet1.1", "bert_base", kLlamaPrefill, kLlamaDecode, "lstm_tagger",
      "detector_tail", "control_flow", "tiny_add", "chain_1000", "chain_100000", "voice_activity", "text_recogniser",
      "densenet121", "inceptionv3", "shufflenetv2", "efficientnet_b0", "vit_s16", "whisper_encoder", "whisper_decoder",
      "wake_word", "unet",
      "unet_f16", "unet_int8", "bert_base_int8", "llama_decode_int4", "llama_decode_int4_dq",
      "resnet50_opset9", "mobilenetv2_opset9", "squeezenet1.1_opset9", "bert_base_opset9", "densenet121_opset9",
      "inceptionv3_opset9", "shufflenetv2_opset9", "efficientnet_b0_opset9", "vit_s16_opset9",
      "text_recogniser_opset9", "wake_word_opset9", "whisper_encoder_opset9",
      "resnet50_tf", "mobilenetv2_tf", "bert_base_tf", "densenet121_tf", "inceptionv3_tf", "efficientnet_b0_tf",
      "vit_s16_tf"};
  // clang-format on
  return kNames;
}

fs::path WriteModel(std::string_view name, const fs::path& folder) {
  const fs::path path = ModelPath(name, folder);
  const auto [base, variant] = SplitVariant(name);
  if (variant == nullptr && (name == kLlamaPrefill || name == kLlamaDecode)) {
    fs::create_directories(folder);
    WriteLlama(folder);
    return path;
  }
  const Build build = FindBuild(base);
  fs::create_directories(folder);
  if (IsCurrent(path)) return path;
  onnx::ModelProto model = build();
  if (variant != nullptr) {
    model = variant->apply(std::move(model));
    StampModel(&model, model.opset_import(0).version());
  }
  SaveModel(model, path);
  return path;
}

fs::path SharedModels(const fs::path& build_tree, const fs::path& own) {
  const fs::path shared = build_tree / "models";
  std::error_code ignored;
  fs::create_directories(shared, ignored);
  return access(shared.c_str(), W_OK) == 0 ? shared : own;
}

}  // namespace epiphyte::test
