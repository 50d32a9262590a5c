// The quantized forms of the generated models: <name>_qdq for the name of any float model of opset 13 or later.
//
//   std::filesystem::path model = WriteAnyModel("mobilenetv2_qdq", folder);
//   WriteQuantizedModel("mobilenetv2_qdq", folder, {.quantize = {.calibration = Calibration::kPercentile}});
//
// resnet50_qdq and mobilenetv2_qdq are made of resnet50_fitted and mobilenetv2_fitted. These have a last layer that
// distinguishes images (fit_classifier.h): the class of the sample image of index i is i % kImageScenes (for
// MobileNetV2 in nine of ten images). With random weights all images look alike in every layer of MobileNetV2, so its
// normalizations are fitted, too (fit_normalization.h).
// llama_prefill_qdq and llama_decode_qdq share their weights, 8-bit and float, in llama_qdq.weights. Their inputs have
// the fixed sizes of the samples, as NPUs require.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "tests/models/quantizer/quantize.h"

namespace epiphyte::test {

// Names of the quantized forms of the models that the demo and the benches run.
std::span<const std::string_view> QuantizedModelNames();
bool IsQuantizedName(std::string_view name);

struct QuantizedModelOptions {
  QuantizeOptions quantize;
  int samples = 8;  // number of samples for calibration: SampleInputs of the indices from 1 on
};

// Writes the quantized model and returns its path, like WriteModel (models.h). The float model is written into the same
// folder first. A file that was written with other options is replaced. Throws as WriteModel and QuantizeModel do.
std::filesystem::path WriteQuantizedModel(std::string_view name, const std::filesystem::path& folder,
                                          const QuantizedModelOptions& options = {});

// Writes the float model from which the quantized one is made, and returns its path.
std::filesystem::path WriteOriginalOf(std::string_view quantized_name, const std::filesystem::path& folder);

// Writes a model of either kind, with a name for WriteModel or one of QuantizedModelNames, and returns its path.
std::filesystem::path WriteAnyModel(std::string_view name, const std::filesystem::path& folder);

}  // namespace epiphyte::test
