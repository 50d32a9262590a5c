// Helpers for the quantizer's tests: small float models, their quantized forms, and a provider's view of those.
//
//   GraphBuilder graph("small");
//   …
//   const onnx::ModelProto quantized = Quantized(FinishModel(std::move(graph), 17), {});
//   EXPECT_THAT(UnitsOf(quantized), ElementsAre("Conv"));
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/session.hpp"
#include "tests/models/builder.h"
#include "tests/models/quantizer/quantize.h"

namespace epiphyte::test {

// The environment with the build's plugins only, shared by all tests.
const Environment& BundledEnvironment();
Value ToValue(const onnx::TensorProto& tensor);
SessionOptions CpuOptions();

// Returns random numbers for each input, different for each index. Inputs must be float and have known shapes.
Sample RandomSample(const onnx::ModelProto& model, int index);
// Quantizes a model, calibrated with many random samples: such models have so few numbers that few samples wouldn't
// show their range.
onnx::ModelProto Quantized(const onnx::ModelProto& model, const QuantizeOptions& options = {});

// Returns the float outputs of a run on the CPU provider, by name.
std::map<std::string, std::vector<float>> RunModel(const onnx::ModelProto& model, const Sample& sample);
// Returns 10 log10 of the signal's power over the error's power, over all outputs; a large number if there is no error.
double SignalToNoise(const onnx::ModelProto& model, const onnx::ModelProto& quantized);
double SignalToNoise(std::span<const float> signal, std::span<const float> other);

// Returns the operators of the QDQ units that the kit finds, in order, and "float <op_type>" for operators outside any
// unit. The QuantizeLinear and DequantizeLinear at the borders are left out.
std::vector<std::string> UnitsOf(const onnx::ModelProto& model);
// Returns the elements of UnitsOf that belong to no unit.
std::vector<std::string> FloatOperatorsOf(const onnx::ModelProto& model);

const onnx::TensorProto* FindInitializer(const onnx::ModelProto& model, const std::string& name);
// Returns the node with that output; null if there is none.
const onnx::NodeProto* ProducerOf(const onnx::ModelProto& model, const std::string& value);
const onnx::NodeProto* FirstNode(const onnx::ModelProto& model, const std::string& op_type);
int CountNodes(const onnx::ModelProto& model, const std::string& op_type);
// Returns the scale and zero point that a QuantizeLinear or DequantizeLinear reads.
Linear LinearOf(const onnx::ModelProto& model, const onnx::NodeProto& node);

}  // namespace epiphyte::test
