#include "tests/models/quantizer/quantizer_fixture.h"

#include <onnx/defs/schema.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "epiphyte/kit/qdq/units.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/models/random_weights.h"
#include "tests/models/rewrite/graph_index.h"

namespace epiphyte::test {
namespace {

int64_t OpsetOf(const onnx::ModelProto& model) { return model.opset_import(0).version(); }

kit::ir::Attribute ToKit(const onnx::AttributeProto& attribute) {
  using kit::ir::Attribute;
  switch (attribute.type()) {
    case onnx::AttributeProto::INT: return Attribute::Int(attribute.name(), attribute.i());
    case onnx::AttributeProto::FLOAT: return Attribute::Float(attribute.name(), attribute.f());
    case onnx::AttributeProto::INTS:
      return Attribute::Ints(attribute.name(), {attribute.ints().begin(), attribute.ints().end()});
    default: return Attribute::String(attribute.name(), attribute.s());
  }
}

// The model as a graph of the kit. Its constants refer to the model, which must outlive it.
class KitGraph {
 public:
  explicit KitGraph(const onnx::ModelProto& model) : index_(model.graph()) {
    for (const onnx::TensorProto& tensor : model.graph().initializer()) AddConstant(tensor);
    for (const onnx::ValueInfoProto& input : model.graph().input()) graph_.inputs.push_back(ValueOf(input.name()));
    for (const onnx::NodeProto& node : model.graph().node()) AddNode(node, OpsetOf(model));
    for (const onnx::ValueInfoProto& output : model.graph().output()) graph_.outputs.push_back(ValueOf(output.name()));
  }
  kit::ir::Graph& graph() { return graph_; }

 private:
  void AddConstant(const onnx::TensorProto& tensor) {
    kit::ir::Tensor constant;
    constant.type = static_cast<EpElementType>(tensor.data_type());
    const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    constant.dims = kit::Dims(std::span<const int64_t>(dims));
    constant.data = tensor.raw_data().data();
    values_[tensor.name()] = graph_.AddConstant(tensor.name(), constant, kit::ir::Constant::Storage::kOwned);
  }

  int32_t ValueOf(const std::string& name) {
    if (name.empty()) return -1;
    const auto [known, added] = values_.try_emplace(name, -1);
    if (added) {
      kit::ir::Value value;
      value.name = name;
      value.kind = EP_KIND_TENSOR;
      known->second = graph_.AddValue(value);
    }
    return known->second;
  }

  void AddNode(const onnx::NodeProto& source, int64_t opset) {
    kit::ir::Node node;
    node.op_type = source.op_type();
    node.name = source.name();
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(source.op_type(), static_cast<int>(opset), source.domain());
    node.since_version = schema == nullptr ? 1 : schema->since_version();
    for (const onnx::AttributeProto& attribute : source.attribute()) node.attributes.push_back(ToKit(attribute));
    for (const std::string& input : source.input()) node.inputs.push_back(ValueOf(input));
    for (const std::string& output : source.output()) node.outputs.push_back(ValueOf(output));
    if (node.op_type == "DequantizeLinear") {
      graph_.values[static_cast<size_t>(node.outputs[0])].rank =
          graph_.values[static_cast<size_t>(node.inputs[0])].rank;
    }
    graph_.nodes.push_back(std::move(node));
  }

  const GraphIndex index_;
  kit::ir::Graph graph_;
  std::map<std::string, int32_t> values_;
};

double Power(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double sum, float value) { return sum + static_cast<double>(value) * value; });
}

}  // namespace

const Environment& BundledEnvironment() {
  static const Environment environment([] {
    EnvironmentOptions options;
    options.use_environment_variable = false;
    options.use_user_folder = false;
    return options;
  }());
  return environment;
}

SessionOptions CpuOptions() {
  SessionOptions options;
  options.AddProvider("cpu");
  return options;
}

Value ToValue(const onnx::TensorProto& tensor) {
  const Shape shape(tensor.dims().begin(), tensor.dims().end());
  return Value::CopyBytes(static_cast<ElementType>(tensor.data_type()), shape, tensor.raw_data().data(),
                          tensor.raw_data().size());
}

Sample RandomSample(const onnx::ModelProto& model, int index) {
  Sample sample;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    onnx::TensorProto tensor;
    tensor.set_name(input.name());
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const auto& dim : input.type().tensor_type().shape().dim()) tensor.add_dims(dim.dim_value());
    std::vector<float> values(static_cast<size_t>(ElementCount(tensor)));
    FillRandom(input.name() + std::to_string(index), 1, 0, values);
    tensor.set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    sample.push_back(tensor);
  }
  return sample;
}

onnx::ModelProto Quantized(const onnx::ModelProto& model, const QuantizeOptions& options) {
  const TempDir dir;
  std::vector<Sample> samples;
  for (int i = 0; i < 32; ++i) samples.push_back(RandomSample(model, i));
  return QuantizeModel({model, dir.path()}, samples, options);
}

std::map<std::string, std::vector<float>> RunModel(const onnx::ModelProto& model, const Sample& sample) {
  const std::string bytes = model.SerializeAsString();
  const Session session(BundledEnvironment(), std::as_bytes(std::span(bytes)), CpuOptions());
  std::vector<NamedValue> inputs;
  for (const onnx::TensorProto& tensor : sample) inputs.emplace_back(tensor.name(), ToValue(tensor));
  const std::vector<Value> outputs = session.Run(inputs);
  std::map<std::string, std::vector<float>> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto values = outputs[i].Data<float>();
    result[session.outputs()[i].name].assign(values.begin(), values.end());
  }
  return result;
}

double SignalToNoise(std::span<const float> signal, std::span<const float> other) {
  if (signal.size() != other.size()) throw std::invalid_argument("the outputs differ in size");
  std::vector<float> error;
  for (size_t i = 0; i < signal.size(); ++i) error.push_back(signal[i] - other[i]);
  return 10 * std::log10((Power(signal) + 1e-30) / (Power(error) + 1e-30));
}

double SignalToNoise(const onnx::ModelProto& model, const onnx::ModelProto& quantized) {
  const Sample sample = RandomSample(model, 100);
  std::vector<float> expected, got;
  for (const auto& [name, values] : RunModel(model, sample))
    expected.insert(expected.end(), values.begin(), values.end());
  for (const auto& [name, values] : RunModel(quantized, sample)) got.insert(got.end(), values.begin(), values.end());
  return SignalToNoise(expected, got);
}

std::vector<std::string> UnitsOf(const onnx::ModelProto& model) {
  KitGraph kit_graph(model);
  const kit::ir::Editor editor(kit_graph.graph());
  const kit::qdq::Units found = kit::qdq::FindUnits(editor);
  std::vector<std::string> names;
  for (const kit::qdq::Unit& unit : found.units) {
    const std::string& op_type = editor.node(unit.target).op_type;
    if (unit.IsQdq()) {
      names.push_back(op_type);
    } else if (op_type != "QuantizeLinear" && op_type != "DequantizeLinear") {
      names.push_back("float " + op_type);
    }
  }
  return names;
}

std::vector<std::string> FloatOperatorsOf(const onnx::ModelProto& model) {
  std::vector<std::string> names = UnitsOf(model);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("float "); });
  return names;
}

const onnx::TensorProto* FindInitializer(const onnx::ModelProto& model, const std::string& name) {
  return GraphIndex(model.graph()).Initializer(name);
}

const onnx::NodeProto* ProducerOf(const onnx::ModelProto& model, const std::string& value) {
  const int n = GraphIndex(model.graph()).Producer(value);
  return n < 0 ? nullptr : &model.graph().node(n);
}

const onnx::NodeProto* FirstNode(const onnx::ModelProto& model, const std::string& op_type) {
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() == op_type) return &node;
  }
  return nullptr;
}

int CountNodes(const onnx::ModelProto& model, const std::string& op_type) {
  int count = 0;
  for (const onnx::NodeProto& node : model.graph().node()) count += node.op_type() == op_type;
  return count;
}

Linear LinearOf(const onnx::ModelProto& model, const onnx::NodeProto& node) {
  Linear linear;
  std::memcpy(&linear.scale, FindInitializer(model, node.input(1))->raw_data().data(), sizeof(float));
  const onnx::TensorProto* zero_point = FindInitializer(model, node.input(2));
  linear.type = static_cast<onnx::TensorProto::DataType>(zero_point->data_type());
  const char byte = zero_point->raw_data()[0];
  linear.zero_point = linear.type == onnx::TensorProto::INT8 ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
  return linear;
}

}  // namespace epiphyte::test
