#include "tests/models/quantizer/calibrate.h"

#include <onnx/shape_inference/implementation.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "epiphyte/environment.hpp"
#include "epiphyte/session.hpp"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

// A path; the destructor removes its file.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Returns the model without the elements of large tensors. Shapes don't depend on them, and half a gigabyte less is
// copied.
onnx::ModelProto WithoutWeights(const onnx::ModelProto& model) {
  constexpr int64_t kMaxShapeElements = 64;
  onnx::ModelProto light;
  *light.mutable_opset_import() = model.opset_import();
  light.set_ir_version(model.ir_version());
  onnx::GraphProto* graph = light.mutable_graph();
  *graph->mutable_node() = model.graph().node();
  *graph->mutable_input() = model.graph().input();
  *graph->mutable_output() = model.graph().output();
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    onnx::TensorProto* copy = graph->add_initializer();
    if (ElementCount(tensor) <= kMaxShapeElements) {
      *copy = tensor;
      continue;
    }
    copy->set_name(tensor.name());
    copy->set_data_type(tensor.data_type());
    *copy->mutable_dims() = tensor.dims();
  }
  return light;
}

void AddIfFloat(const onnx::ValueInfoProto& value, std::set<std::string>* names) {
  if (value.type().tensor_type().elem_type() == onnx::TensorProto::FLOAT) names->insert(value.name());
}

// Returns the model with `values` as additional outputs. A session returns all outputs.
onnx::ModelProto Observed(const ModelFile& file, const std::set<std::string>& values) {
  onnx::ModelProto model = file.model;
  onnx::GraphProto* graph = model.mutable_graph();
  std::set<std::string> present;
  for (const onnx::ValueInfoProto& output : graph->output()) present.insert(output.name());
  for (const onnx::ValueInfoProto& input : graph->input()) present.insert(input.name());
  for (const std::string& value : values) {
    if (present.contains(value)) continue;
    onnx::ValueInfoProto* output = graph->add_output();
    output->set_name(value);
    output->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  return model;
}

void Write(const onnx::ModelProto& model, const fs::path& path) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  if (!stream || !model.SerializeToOstream(&stream) || !stream.flush()) {
    throw std::runtime_error("can't write " + path.string() + "; is the disk full?");
  }
}

SessionOptions CpuOptions() {
  SessionOptions options;
  options.AddProvider("cpu");
  return options;
}

EnvironmentOptions BundledPlugins() {
  EnvironmentOptions options;
  options.use_environment_variable = false;
  options.use_user_folder = false;
  return options;
}

Value ToValue(const onnx::TensorProto& tensor) {
  const Shape shape(tensor.dims().begin(), tensor.dims().end());
  const std::string& bytes = tensor.raw_data();
  return Value::CopyBytes(static_cast<ElementType>(tensor.data_type()), shape, bytes.data(), bytes.size());
}

}  // namespace

std::set<std::string> FloatActivations(const ModelFile& file) {
  onnx::ModelProto light = WithoutWeights(file.model);
  onnx::shape_inference::InferShapes(light);
  std::set<std::string> names;
  for (const auto* values : {&light.graph().input(), &light.graph().value_info(), &light.graph().output()}) {
    for (const onnx::ValueInfoProto& value : *values) AddIfFloat(value, &names);
  }
  for (const onnx::TensorProto& tensor : light.graph().initializer()) names.erase(tensor.name());
  return names;
}

void ObserveRuns(const ModelFile& file, const std::set<std::string>& values, const std::vector<Sample>& samples,
                 const SeeValue& see) {
  const TemporaryFile observed(file.folder / (file.model.graph().name() + ".calibration" + std::to_string(getpid())));
  Write(Observed(file, values), observed.path());
  const Environment environment(BundledPlugins());
  const Session session(environment, observed.path(), CpuOptions());
  for (const Sample& sample : samples) {
    std::vector<NamedValue> inputs;
    for (const onnx::TensorProto& tensor : sample) {
      inputs.emplace_back(tensor.name(), ToValue(tensor));
      if (values.contains(tensor.name())) see(tensor.name(), inputs.back().second.Data<float>());
    }
    const std::vector<Value> outputs = session.Run(inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = session.outputs()[i].name;
      if (values.contains(name)) see(name, outputs[i].Data<float>());
    }
  }
}

ActivationMap MeasureActivations(const ModelFile& file, const std::set<std::string>& values,
                                 const std::vector<Sample>& samples, bool with_histograms) {
  ActivationMap seen;
  for (const std::string& value : values) seen.try_emplace(value, with_histograms);
  ObserveRuns(file, values, samples,
              [&](const std::string& name, std::span<const float> elements) { seen.at(name).Add(elements); });
  return seen;
}

}  // namespace epiphyte::test
