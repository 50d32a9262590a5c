// Calibration measures the ranges that values of a float model take: it runs the model on the CPU provider with every
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

// The inputs of one run, each with its name.
using Sample = std::vector<onnx::TensorProto>;
using ActivationMap = std::map<std::string, ActivationStatistics>;

// Returns the float tensors of the main graph that depend on its inputs: inputs and outputs of nodes, but no
// initializers.
std::set<std::string> FloatActivations(const ModelFile& file);

// Runs the model with each sample on the CPU provider and calls `see` with the elements of each of `values` (inputs and
// outputs of nodes). During the runs, a copy of the model lies beside the files that it refers to. Throws
// epiphyte::Error when the model doesn't run.
using SeeValue = std::function<void(const std::string& name, std::span<const float> elements)>;
void ObserveRuns(const ModelFile& file, const std::set<std::string>& values, const std::vector<Sample>& samples,
                 const SeeValue& see);

// Measures the values. The result depends on model and samples only. Throws as ObserveRuns does.
ActivationMap MeasureActivations(const ModelFile& file, const std::set<std::string>& values,
                                 const std::vector<Sample>& samples, bool with_histograms);

}  // namespace epiphyte::test
