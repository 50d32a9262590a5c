// The quantised forms of the generated models: <name>_qdq for the name of any float model of opset 13 or later.
//
//   std::filesystem::path model = WriteAnyModel("mobilenetv2_qdq", folder);
//   WriteQuantizedModel("mobilenetv2_qdq", folder, {.quantize = {.calibration = Calibration::kPercentile}});
//
// resnet50_qdq and mobilenetv2_qdq are made of resnet50_fitted and mobilenetv2_fitted: the models with a last layer that
// tells images apart (fit_classifier.h), so that the class of the sample image of index i is i % kImageScenes, for
// MobileNetV2 of nine in ten. To that with random weights all images look alike in every layer; so its normalisations
// are fitted, too (fit_normalization.h).
// llama_prefill_qdq and llama_decode_qdq share their weights, 8-bit and float, in llama_qdq.weights, and are for inputs
// of one size, that of the samples, as NPUs want it.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "tests/models/quantizer/quantize.h"

namespace epiphyte::test {

// Names of the quantised forms of the models that the demo and the benches run.
std::span<const std::string_view> QuantizedModelNames();
bool IsQuantizedName(std::string_view name);

struct QuantizedModelOptions {
  QuantizeOptions quantize;
  int samples = 8;  // for calibration: SampleInputs of the indices from 1
};

// Like WriteModel (models.h). The float model is written into the same folder first. A file that was written with
// other options is written again. Throws as WriteModel and QuantizeModel do.
std::filesystem::path WriteQuantizedModel(std::string_view name, const std::filesystem::path& folder,
                                          const QuantizedModelOptions& options = {});

// The float model that the quantised one is made of.
std::filesystem::path WriteOriginalOf(std::string_view quantized_name, const std::filesystem::path& folder);

// A model of either kind, by the name of WriteModel or of QuantizedModelNames.
std::filesystem::path WriteAnyModel(std::string_view name, const std::filesystem::path& folder);

}  // namespace epiphyte::test
