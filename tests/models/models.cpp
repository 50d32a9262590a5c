#include "tests/models/models.h"

#include <unistd.h>

#include <charconv>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/models/architectures.h"
#include "tests/models/model_store.h"

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

Build FindBuild(std::string_view name) {
  static constexpr std::pair<std::string_view, onnx::ModelProto (*)()> kBuilds[] = {
      {"resnet50", BuildResNet50},        {"mobilenetv2", BuildMobileNetV2}, {"squeezenet1.1", BuildSqueezeNet11},
      {"bert_base", BuildBertBase},       {"lstm_tagger", BuildLstmTagger},  {"detector_tail", BuildDetectorTail},
      {"control_flow", BuildControlFlow}, {"tiny_add", BuildTinyAdd},        {"voice_activity", BuildVoiceActivity},
      {"text_recogniser", BuildTextRecogniser},
  };
  for (const auto& [known, build] : kBuilds) {
    if (known == name) return build;
  }
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
  // A model that stands must have its weights: models go first and come last.
  fs::remove(prefill);
  fs::remove(decode);
  const LlamaModels models = BuildLlama(TemporaryPath(weights));
  fs::rename(TemporaryPath(weights), weights);
  SaveModel(models.prefill, prefill);
  SaveModel(models.decode, decode);
}

}  // namespace

std::span<const std::string_view> ModelNames() {
  static constexpr std::string_view kNames[] = {"resnet50",     "mobilenetv2", "squeezenet1.1", "bert_base",
                                                kLlamaPrefill,  kLlamaDecode,  "lstm_tagger",   "detector_tail",
                                                "control_flow", "tiny_add",    "chain_1000",    "chain_100000",
                                                "voice_activity", "text_recogniser"};
  return kNames;
}

fs::path WriteModel(std::string_view name, const fs::path& folder) {
  const fs::path path = ModelPath(name, folder);
  if (name == kLlamaPrefill || name == kLlamaDecode) {
    fs::create_directories(folder);
    WriteLlama(folder);
    return path;
  }
  const Build build = FindBuild(name);
  fs::create_directories(folder);
  if (!IsCurrent(path)) SaveModel(build(), path);
  return path;
}

fs::path SharedModels(const fs::path& build_tree, const fs::path& own) {
  const fs::path shared = build_tree / "models";
  std::error_code ignored;
  fs::create_directories(shared, ignored);
  return access(shared.c_str(), W_OK) == 0 ? shared : own;
}

}  // namespace epiphyte::test
