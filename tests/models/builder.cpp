#include "tests/models/builder.h"

#include <cstring>

#include "tests/models/external_weights.h"
#include "tests/models/random_weights.h"

namespace epiphyte::test {
namespace {

// Revision of the generator. Raise it when a model changes, so that files of an older generator are written again.
constexpr const char* kRevision = "2";

int IrVersionOf(int64_t opset) {
  if (opset >= 21) return 10;
  if (opset >= 15) return 8;
  if (opset >= 12) return 7;
  return opset >= 10 ? 6 : 4;
}

template <typename T>
std::string RawBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

void SetType(onnx::ValueInfoProto* info, const std::string& name, GraphBuilder::Elem type,
             const std::vector<Dimension>& dims) {
  info->set_name(name);
  onnx::TypeProto::Tensor* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  for (const Dimension& dim : dims) {
    if (dim.symbol.empty()) {
      shape->add_dim()->set_dim_value(dim.size);
    } else {
      shape->add_dim()->set_dim_param(dim.symbol);
    }
  }
}

struct AttributeWriter {
  onnx::AttributeProto* proto;

  void operator()(int64_t value) const {
    proto->set_type(onnx::AttributeProto::INT);
    proto->set_i(value);
  }
  void operator()(float value) const {
    proto->set_type(onnx::AttributeProto::FLOAT);
    proto->set_f(value);
  }
  void operator()(const std::string& value) const {
    proto->set_type(onnx::AttributeProto::STRING);
    proto->set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto->set_type(onnx::AttributeProto::INTS);
    proto->mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const onnx::GraphProto& graph) const {
    proto->set_type(onnx::AttributeProto::GRAPH);
    *proto->mutable_g() = graph;
  }
  void operator()(const onnx::TensorProto& tensor) const {
    proto->set_type(onnx::AttributeProto::TENSOR);
    *proto->mutable_t() = tensor;
  }
};

template <typename T>
onnx::TensorProto ConstantTensor(GraphBuilder::Elem type, const std::vector<int64_t>& dims,
                                 const std::vector<T>& values) {
  onnx::TensorProto tensor;
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_data_type(type);
  tensor.set_raw_data(RawBytes(values));
  return tensor;
}

}  // namespace

void WriteAttribute(const Attribute& attribute, onnx::AttributeProto* proto) {
  proto->set_name(attribute.name);
  std::visit(AttributeWriter{proto}, attribute.value);
}

GraphBuilder::GraphBuilder(std::string name, ExternalWeights* external) : external_(external) {
  graph_.set_name(std::move(name));
}

std::string GraphBuilder::Input(const std::string& name, Elem type, const std::vector<Dimension>& dims) {
  SetType(graph_.add_input(), name, type, dims);
  return name;
}

void GraphBuilder::Output(const std::string& value, const std::string& name, Elem type,
                          const std::vector<Dimension>& dims) {
  for (onnx::NodeProto& node : *graph_.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == value) output = name;
    }
    for (std::string& input : *node.mutable_input()) {
      if (input == value) input = name;
    }
  }
  SetType(graph_.add_output(), name, type, dims);
}

onnx::TensorProto* GraphBuilder::AddInitializer(const std::string& name, Elem type, const std::vector<int64_t>& dims) {
  onnx::TensorProto* tensor = graph_.add_initializer();
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
  tensor->set_data_type(type);
  tensor->set_name(name);
  return tensor;
}

std::string GraphBuilder::Random(const std::string& name, const std::vector<int64_t>& dims, float deviation,
                                 float mean) {
  onnx::TensorProto* tensor = AddInitializer(name, onnx::TensorProto::FLOAT, dims);
  uint64_t count = 1;
  for (int64_t dim : dims) count *= static_cast<uint64_t>(dim);
  const uint64_t bytes = count * sizeof(float);

  if (external_ != nullptr && bytes >= kExternalThresholdBytes) {
    external_->Refer(tensor, external_->Add(name, count, deviation, mean));
    return name;
  }
  std::vector<float> values(count);
  FillRandom(name, deviation, mean, values);
  std::string* raw = tensor->mutable_raw_data();
  raw->resize(bytes);
  std::memcpy(raw->data(), values.data(), bytes);
  return name;
}

std::string GraphBuilder::Floats(const std::string& name, const std::vector<int64_t>& dims,
                                 const std::vector<float>& values) {
  AddInitializer(name, onnx::TensorProto::FLOAT, dims)->set_raw_data(RawBytes(values));
  return name;
}

std::string GraphBuilder::Ints(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<int64_t>& values) {
  AddInitializer(name, onnx::TensorProto::INT64, dims)->set_raw_data(RawBytes(values));
  return name;
}

std::string GraphBuilder::FloatConstant(float value) {
  return Node("Constant", {}, {{"value", ConstantTensor<float>(onnx::TensorProto::FLOAT, {}, {value})}});
}

std::string GraphBuilder::IntConstant(int64_t value) {
  return Node("Constant", {}, {{"value", ConstantTensor<int64_t>(onnx::TensorProto::INT64, {}, {value})}});
}

std::string GraphBuilder::IntsConstant(const std::vector<int64_t>& values) {
  const std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
  return Node("Constant", {}, {{"value", ConstantTensor<int64_t>(onnx::TensorProto::INT64, dims, values)}});
}

std::string GraphBuilder::BoolConstant(bool value) {
  const std::vector<uint8_t> bytes = {static_cast<uint8_t>(value)};
  return Node("Constant", {}, {{"value", ConstantTensor<uint8_t>(onnx::TensorProto::BOOL, {}, bytes)}});
}

std::string GraphBuilder::Node(const std::string& op_type, const std::vector<std::string>& inputs,
                               const std::vector<Attribute>& attributes) {
  return NodeWithOutputs(op_type, inputs, 1, attributes).front();
}

std::vector<std::string> GraphBuilder::NodeWithOutputs(const std::string& op_type,
                                                       const std::vector<std::string>& inputs, int output_count,
                                                       const std::vector<Attribute>& attributes) {
  onnx::NodeProto* node = graph_.add_node();
  node->set_op_type(op_type);
  node->set_name(scope_ + "/" + op_type + "_" + std::to_string(node_count_++));
  for (const std::string& input : inputs) node->add_input(input);
  std::vector<std::string> outputs;
  for (int i = 0; i < output_count; ++i) {
    outputs.push_back(node->name() + "_output_" + std::to_string(i));
    node->add_output(outputs.back());
  }
  for (const Attribute& attribute : attributes) WriteAttribute(attribute, node->add_attribute());
  return outputs;
}

onnx::ModelProto FinishModel(GraphBuilder graph, int opset) {
  onnx::ModelProto model;
  StampModel(&model, opset);
  onnx::OperatorSetIdProto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  *model.mutable_graph() = graph.Take();
  return model;
}

void StampModel(onnx::ModelProto* model, int64_t opset, const std::string& variant) {
  model->set_ir_version(IrVersionOf(opset));
  model->set_producer_name("epiphyte_make_models");
  model->set_producer_version(variant.empty() ? kRevision : kRevision + (" " + variant));
}

std::string ModelStamp(int64_t opset, const std::string& variant) {
  onnx::ModelProto model;
  StampModel(&model, opset, variant);
  return model.SerializeAsString();
}

}  // namespace epiphyte::test
