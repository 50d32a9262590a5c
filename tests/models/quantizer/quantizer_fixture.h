// Helpers for the quantiser's tests: small float models, their quantised forms, and a provider's view of those.
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

// The build's plugins and nothing of the machine's; one for all tests.
const Environment& BundledEnvironment();
Value ToValue(const onnx::TensorProto& tensor);
SessionOptions CpuOptions();

// Random numbers for each input, which are float and of known shapes; every index has its own.
Sample RandomSample(const onnx::ModelProto& model, int index);
// Calibrated with random samples, which are many, since such models have few numbers that show their range.
onnx::ModelProto Quantized(const onnx::ModelProto& model, const QuantizeOptions& options = {});

// The float outputs of a run on the CPU provider, by name.
std::map<std::string, std::vector<float>> RunModel(const onnx::ModelProto& model, const Sample& sample);
// 10 log10 of the signal's power over the error's, of all outputs; large when there is no error.
double SignalToNoise(const onnx::ModelProto& model, const onnx::ModelProto& quantized);
double SignalToNoise(std::span<const float> signal, std::span<const float> other);

// The operators of the QDQ units that the kit finds, in order, and "float <op_type>" for operators outside any unit.
// The QuantizeLinear and DequantizeLinear at the borders are left out.
std::vector<std::string> UnitsOf(const onnx::ModelProto& model);
// The part of UnitsOf that is in no unit.
std::vector<std::string> FloatOperatorsOf(const onnx::ModelProto& model);

const onnx::TensorProto* FindInitializer(const onnx::ModelProto& model, const std::string& name);
// The node that makes the value; null: none.
const onnx::NodeProto* ProducerOf(const onnx::ModelProto& model, const std::string& value);
const onnx::NodeProto* FirstNode(const onnx::ModelProto& model, const std::string& op_type);
int CountNodes(const onnx::ModelProto& model, const std::string& op_type);
// Scale and zero point that a QuantizeLinear or DequantizeLinear reads.
Linear LinearOf(const onnx::ModelProto& model, const onnx::NodeProto& node);

}  // namespace epiphyte::test
