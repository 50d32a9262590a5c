// QuantizeModel quantizes a float model to 8 bits after training, as QuantizeLinear and DequantizeLinear nodes around
// its operators (QDQ), the way exporters write it.
//
//   onnx::ModelProto quantized = QuantizeModel(ReadModelFile("resnet50.onnx"), samples, {});
//
// The output of a quantized operator has one QuantizeLinear, and one DequantizeLinear for each quantized reader. A
// float reader or an output of the graph has a DequantizeLinear of its own. Activations have one scale. Weights are
// symmetric int8, with a scale for each output channel where the operator supports it. Biases are int32 in units of the
// input's scale times the weights' scale. A Relu or Clip is removed when the quantized range has the same effect.
// Operators that move elements keep the scale of their input. placement.h decides which operators are quantized, and
// prepare.h changes the float model beforehand.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/models/quantizer/calibrate.h"
#include "tests/models/quantizer/linear.h"
#include "tests/models/rewrite/model_file.h"

namespace epiphyte::test {

enum class Calibration : uint8_t { kMinMax, kPercentile };

struct QuantizeOptions {
  Calibration calibration = Calibration::kMinMax;
  double percentile = 99.99;  // share of each activation's numbers that stays within its range, in percent
  ActivationForm activations;
  bool per_channel = true;
  // false: all quantized readers of a value share one DequantizeLinear, as some exporters write it.
  bool dedicated_dequantize = true;
};

// Returns a text such as "uint8 minmax" that identifies the options.
std::string OptionsText(const QuantizeOptions& options);

// Returns the quantized model with all weights inside. Throws std::invalid_argument for a model below opset 13, which
// has no scales for channels, without samples, or for a type of activations other than uint8 and int8. Throws
// epiphyte::Error when the float model doesn't run.
onnx::ModelProto QuantizeModel(ModelFile file, const std::vector<Sample>& samples, const QuantizeOptions& options);

}  // namespace epiphyte::test
