// QuantizeModel: post-training quantisation of a float model to 8 bits, as QuantizeLinear and DequantizeLinear nodes
// around its operators (QDQ), the way exporters write it.
//
//   onnx::ModelProto quantized = QuantizeModel(ReadModelFile("resnet50.onnx"), samples, {});
//
// Of a value that a quantised operator makes there is one QuantizeLinear, and a DequantizeLinear for each operator that
// reads it; what reads it in float, or is an output of the graph, has one of its own. Activations have one scale;
// weights are symmetric int8, with a scale for each output channel where the operator has them; biases are int32 in
// steps of the input's scale times the weights'. A Relu or Clip that the quantised range does by itself goes. Operators
// that move elements have the scale of what they move. Which operators are quantised is in placement.h, what is done to
// the float model before in prepare.h.
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
  double percentile = 99.99;  // of each activation's numbers that stay within its range
  ActivationForm activations;
  bool per_channel = true;
  // false: all that read a value in 8 bits share one DequantizeLinear, as some exporters write it.
  bool dedicated_dequantize = true;
};

// "uint8 minmax": what tells one way to quantise from another.
std::string OptionsText(const QuantizeOptions& options);

// The result has all of its weights inside. Throws std::invalid_argument for a model below opset 13, which has no
// scales for channels, without samples, or for a type of activations other than uint8 and int8; epiphyte::Error when
// the float model doesn't run.
onnx::ModelProto QuantizeModel(ModelFile file, const std::vector<Sample>& samples, const QuantizeOptions& options);

}  // namespace epiphyte::test
