#include "tests/models/quantizer/fit_normalization.h"

#include <map>
#include <set>
#include <stdexcept>

namespace epiphyte::test {
namespace {

// Both are chosen for the largest number of images that keep their class when the network is quantized.
constexpr float kBranchGain = 0.1f;
constexpr float kClipOffset = 1;

void SetBatch(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>* values, int64_t size) {
  for (onnx::ValueInfoProto& value : *values) {
    auto* shape = value.mutable_type()->mutable_tensor_type()->mutable_shape();
    if (shape->dim_size() == 0 || shape->dim(0).dim_value() != 1) {
      throw std::invalid_argument("'" + value.name() + "' has no batch of 1 in front");
    }
    shape->mutable_dim(0)->set_dim_value(size);
  }
}

// Returns one sample with the samples' tensors as one batch. Each sample must have one tensor.
Sample Joined(const std::vector<Sample>& samples) {
  onnx::TensorProto batch = samples.at(0).at(0);
  batch.set_dims(0, static_cast<int64_t>(samples.size()));
  for (size_t i = 1; i < samples.size(); ++i) *batch.mutable_raw_data() += samples[i].at(0).raw_data();
  return {batch};
}

void SetAttribute(onnx::NodeProto* node, const onnx::AttributeProto& attribute) {
  for (onnx::AttributeProto& known : *node->mutable_attribute()) {
    if (known.name() == attribute.name()) return known.CopyFrom(attribute);
  }
  node->add_attribute()->CopyFrom(attribute);
}

// Sets each BatchNormalization to training mode with momentum 0, so that it uses the mean and variance of its input and
// outputs them as "running" mean and variance. Returns the initializer that belongs to each of these outputs.
std::map<std::string, std::string> LetNormalizationMeasure(onnx::GraphProto* graph) {
  onnx::AttributeProto training, momentum;
  training.set_name("training_mode");
  training.set_type(onnx::AttributeProto::INT);
  training.set_i(1);
  momentum.set_name("momentum");
  momentum.set_type(onnx::AttributeProto::FLOAT);
  momentum.set_f(0);
  std::map<std::string, std::string> measured;
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    if (node.op_type() != "BatchNormalization") continue;
    SetAttribute(&node, training);
    SetAttribute(&node, momentum);
    for (const int parameter : {3, 4}) {
      const std::string name = node.input(parameter) + ".measured";
      if (!measured.emplace(name, node.input(parameter)).second) {
        throw std::invalid_argument("'" + node.input(parameter) + "' is of two normalisations");
      }
      node.add_output(name);
    }
  }
  return measured;
}

// Multiplies the scales of normalizations in front of a residual sum by kBranchGain. Sets the biases of normalizations
// in front of a Clip to kClipOffset.
void SetScalesAndBiases(ModelFile* file) {
  onnx::GraphProto* graph = file->model.mutable_graph();
  std::map<std::string, const onnx::NodeProto*> normalization_of;  // by the name of the normalized value
  std::set<std::string> scales, biases;
  for (const onnx::NodeProto& node : graph->node()) {
    if (node.op_type() == "BatchNormalization") normalization_of[node.output(0)] = &node;
    for (const std::string& input : node.input()) {
      const auto found = normalization_of.find(input);
      if (found == normalization_of.end()) continue;
      if (node.op_type() == "Add" && input == node.input(1)) scales.insert(found->second->input(1));
      if (node.op_type() == "Clip") biases.insert(found->second->input(2));
    }
  }
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    const bool is_scale = scales.contains(tensor.name());
    if (!is_scale && !biases.contains(tensor.name())) continue;
    std::vector<float> numbers = file->Floats(tensor);
    for (float& number : numbers) number = is_scale ? number * kBranchGain : kClipOffset;
    tensor.set_raw_data(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  }
}

}  // namespace

void FitNormalization(ModelFile* file, const std::vector<Sample>& samples) {
  SetScalesAndBiases(file);
  ModelFile measuring = *file;
  onnx::GraphProto* graph = measuring.model.mutable_graph();
  graph->clear_value_info();
  SetBatch(graph->mutable_input(), static_cast<int64_t>(samples.size()));
  SetBatch(graph->mutable_output(), static_cast<int64_t>(samples.size()));
  const std::map<std::string, std::string> measured = LetNormalizationMeasure(graph);
  std::set<std::string> values;
  for (const auto& [value, parameter] : measured) values.insert(value);
  std::map<std::string, std::vector<float>> found;
  ObserveRuns(measuring, values, {Joined(samples)}, [&](const std::string& name, std::span<const float> elements) {
    found[measured.at(name)].assign(elements.begin(), elements.end());
  });
  for (onnx::TensorProto& tensor : *file->model.mutable_graph()->mutable_initializer()) {
    const auto fitted = found.find(tensor.name());
    if (fitted == found.end()) continue;
    tensor.set_raw_data(reinterpret_cast<const char*>(fitted->second.data()), fitted->second.size() * sizeof(float));
    found.erase(fitted);
  }
  if (!found.empty()) throw std::invalid_argument("'" + found.begin()->first + "' is no initializer");
}

}  // namespace epiphyte::test
