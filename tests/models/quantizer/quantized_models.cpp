#include "tests/models/quantizer/quantized_models.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include "tests/models/builder.h"
#include "tests/models/external_weights.h"
#include "tests/models/model_store.h"
#include "tests/models/models.h"
#include "tests/models/quantizer/fit_classifier.h"
#include "tests/models/quantizer/fit_normalization.h"
#include "tests/models/sample_inputs.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

// Revision of the quantizer. Raise it when quantized models change, so that files of an older quantizer are written
// again.
constexpr int kRevision = 6;
constexpr std::string_view kSuffix = "_qdq";
// Index of the first prototype image: a multiple of kImageScenes above all other indices in use, so that image k of
// these shows scene k % kImageScenes.
constexpr uint64_t kFirstPrototype = 1 << 20;
constexpr std::string_view kLlama[] = {"llama_prefill", "llama_decode"};

constexpr std::string_view kFitted = "_fitted";
struct Network {
  std::string_view name;
  int images_of_scene;      // number of images of each scene to which the classifier is fitted
  int images_to_normalize;  // number of images for FitNormalization; 0 if residual sums keep images apart without it
};
constexpr Network kClassifiers[] = {{"resnet50", 1, 0}, {"mobilenetv2", 8, 16}};

// Writes the model with a fitted classifier, in which images of scene k have class k.
fs::path WriteFitted(const Network& network, const fs::path& folder) {
  const fs::path path = ModelPath(std::string(network.name) + std::string(kFitted), folder);
  const std::string variant = "fitted " + std::to_string(kRevision);
  if (IsCurrent(path, variant)) return path;
  ModelFile file = ReadModelFile(WriteModel(network.name, folder));
  std::vector<Sample> prototypes;
  for (uint64_t i = 0; i < kImageScenes * static_cast<uint64_t>(network.images_of_scene); ++i) {
    prototypes.push_back(SampleInputs(network.name, kFirstPrototype + i));
  }
  if (network.images_to_normalize != 0) {
    FitNormalization(&file, {prototypes.begin(), prototypes.begin() + network.images_to_normalize});
  }
  FitClassifier(&file, prototypes, kImageScenes);
  StampModel(&file.model, file.Opset(), variant);
  SaveModel(file.model, path);
  return path;
}

fs::path WriteOriginal(std::string_view float_name, const fs::path& folder) {
  for (const Network& network : kClassifiers) {
    if (network.name == float_name) return WriteFitted(network, folder);
  }
  return WriteModel(float_name, folder);
}

std::string VariantOf(const QuantizedModelOptions& options) {
  return "quantiser " + std::to_string(kRevision) + " " + OptionsText(options.quantize) + " " +
         std::to_string(options.samples);
}

// Gives the inputs the sizes that they have in a sample, because compilers for NPUs take one model for each shape.
// Output sizes that only a run can tell stay open.
void FixSizes(onnx::GraphProto* graph, const Sample& sample) {
  const auto dims_of = [](onnx::ValueInfoProto& value) {
    return value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
  };
  std::map<std::string, int64_t> sizes;
  for (onnx::ValueInfoProto& input : *graph->mutable_input()) {
    const auto tensor =
        std::find_if(sample.begin(), sample.end(), [&](const auto& t) { return t.name() == input.name(); });
    if (tensor == sample.end()) continue;
    for (int i = 0; i < tensor->dims_size(); ++i) {
      auto* dim = dims_of(input)->Mutable(i);
      if (!dim->dim_param().empty()) sizes[dim->dim_param()] = tensor->dims(i);
      dim->set_dim_value(tensor->dims(i));
    }
  }
  for (onnx::ValueInfoProto& output : *graph->mutable_output()) {
    for (auto& dim : *dims_of(output)) {
      if (dim.dim_param().empty()) continue;
      const auto size = sizes.find(dim.dim_param());
      dim.clear_dim_param();
      if (size != sizes.end()) dim.set_dim_value(size->second);
    }
  }
}

onnx::ModelProto Quantized(std::string_view float_name, const fs::path& folder, const QuantizedModelOptions& options) {
  std::vector<Sample> samples;
  for (int i = 1; i <= options.samples; ++i) samples.push_back(SampleInputs(float_name, static_cast<uint64_t>(i)));
  ModelFile file = ReadModelFile(WriteOriginal(float_name, folder));
  if (std::ranges::find(kLlama, float_name) != std::end(kLlama)) FixSizes(file.model.mutable_graph(), samples.front());
  onnx::ModelProto model = QuantizeModel(std::move(file), samples, options.quantize);
  StampModel(&model, model.opset_import(0).version(), VariantOf(options));
  return model;
}

void MoveWeights(onnx::ModelProto* model, ExternalWeights* weights) {
  for (onnx::TensorProto& tensor : *model->mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() < kExternalThresholdBytes) continue;
    weights->Refer(&tensor, weights->Add(tensor.name(), tensor.raw_data()));
    tensor.clear_raw_data();
  }
}

void WriteLlama(const fs::path& folder, const QuantizedModelOptions& options) {
  const fs::path weights_path = folder / "llama_qdq.weights";
  fs::path paths[2];
  for (int i = 0; i < 2; ++i) paths[i] = ModelPath(std::string(kLlama[i]) + std::string(kSuffix), folder);
  if (fs::exists(weights_path) && IsCurrent(paths[0], VariantOf(options)) && IsCurrent(paths[1], VariantOf(options))) {
    return;
  }
  // An existing model must always have its weights, so models are removed before the weights change and written last.
  for (const fs::path& path : paths) fs::remove(path);
  ExternalWeights weights(TemporaryPath(weights_path), "llama_qdq.weights");
  onnx::ModelProto models[2];
  for (int i = 0; i < 2; ++i) {
    models[i] = Quantized(kLlama[i], folder, options);
    MoveWeights(&models[i], &weights);
  }
  weights.Close();
  fs::rename(TemporaryPath(weights_path), weights_path);
  for (int i = 0; i < 2; ++i) SaveModel(models[i], paths[i]);
}

}  // namespace

std::span<const std::string_view> QuantizedModelNames() {
  static constexpr std::string_view kNames[] = {"resnet50_qdq", "mobilenetv2_qdq", "bert_base_qdq", "llama_prefill_qdq",
                                                "llama_decode_qdq"};
  return kNames;
}

bool IsQuantizedName(std::string_view name) { return name.ends_with(kSuffix); }

fs::path WriteQuantizedModel(std::string_view name, const fs::path& folder, const QuantizedModelOptions& options) {
  if (!IsQuantizedName(name))
    throw std::invalid_argument("'" + std::string(name) + "' is no name of a quantised model");
  const std::string_view float_name = name.substr(0, name.size() - kSuffix.size());
  fs::create_directories(folder);
  const fs::path path = ModelPath(name, folder);
  if (float_name == kLlama[0] || float_name == kLlama[1]) {
    WriteLlama(folder, options);
  } else if (!IsCurrent(path, VariantOf(options))) {
    SaveModel(Quantized(float_name, folder, options), path);
  }
  return path;
}

fs::path WriteOriginalOf(std::string_view quantized_name, const fs::path& folder) {
  fs::create_directories(folder);
  return WriteOriginal(quantized_name.substr(0, quantized_name.size() - kSuffix.size()), folder);
}

fs::path WriteAnyModel(std::string_view name, const fs::path& folder) {
  return IsQuantizedName(name) ? WriteQuantizedModel(name, folder) : WriteModel(name, folder);
}

}  // namespace epiphyte::test
