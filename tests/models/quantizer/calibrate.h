// Calibration: the ranges that values of a float model take, measured by running it on the CPU provider with every
// value as an output.
//
//   ActivationMap seen = MeasureActivations(file, FloatActivations(file), samples, /*with_histograms=*/false);
//   Range range = seen.at("/layer1.0/Relu_2_output_0").MinMax();
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/models/quantizer/statistics.h"
#include "tests/models/rewrite/model_file.h"

namespace epiphyte::test {

// The inputs of one run, by name.
using Sample = std::vector<onnx::TensorProto>;
using ActivationMap = std::map<std::string, ActivationStatistics>;

// The values of the main graph that are float tensors and depend on its inputs: inputs and outputs of nodes, but no
// initializers.
std::set<std::string> FloatActivations(const ModelFile& file);

// Runs the model with each sample in turn, on the CPU provider, and shows what the values hold: those of `values`,
// inputs and outputs of nodes. Writes a copy of the model beside the files that it refers to, for the time of the runs.
// Throws epiphyte::Error when the model doesn't run.
using SeeValue = std::function<void(const std::string& name, std::span<const float> elements)>;
void ObserveRuns(const ModelFile& file, const std::set<std::string>& values, const std::vector<Sample>& samples,
                 const SeeValue& see);

// The result depends on nothing but model and samples. Throws as ObserveRuns.
ActivationMap MeasureActivations(const ModelFile& file, const std::set<std::string>& values,
                                 const std::vector<Sample>& samples, bool with_histograms);

}  // namespace epiphyte::test
