#include "tests/host/small_models.h"

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <vector>

namespace epiphyte::test {
namespace {

onnx::ModelProto NewModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("epiphyte tests");
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_version(17);
  model.mutable_graph()->set_name("graph");
  return model;
}

// A dimension that is not a number becomes a symbol.
void SetType(onnx::ValueInfoProto* value, const std::string& name, int element,
             std::initializer_list<std::string> dims) {
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(element);
  auto* shape = type->mutable_shape();
  for (const std::string& dim : dims) {
    if (dim.find_first_not_of("0123456789") == std::string::npos) {
      shape->add_dim()->set_dim_value(std::stoll(dim));
    } else {
      shape->add_dim()->set_dim_param(dim);
    }
  }
}

onnx::NodeProto* AddNode(onnx::ModelProto& model, const std::string& op, std::initializer_list<std::string> inputs,
                         std::initializer_list<std::string> outputs) {
  onnx::NodeProto* node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  node->set_name(op + "_" + std::to_string(model.graph().node_size() - 1));
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

void SetAttribute(onnx::NodeProto* node, const std::string& name, int64_t value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void SetAttribute(onnx::NodeProto* node, const std::string& name, const std::string& value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(value);
}

}  // namespace

std::string OverridableModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "w", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  onnx::TensorProto* w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(2);
  for (const float number : {1.0f, 2.0f}) w->add_float_data(number);
  AddNode(model, "Add", {"x", "w"}, {"y"});
  return model.SerializeAsString();
}

std::string KnownModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  onnx::AttributeProto* value = AddNode(model, "Constant", {}, {"y"})->add_attribute();
  value->set_name("value_floats");
  value->set_type(onnx::AttributeProto::FLOATS);
  for (const float number : {1.0f, 2.0f}) value->add_floats(number);
  return model.SerializeAsString();
}

std::string AddModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "a", onnx::TensorProto::FLOAT, {"batch", "3"});
  SetType(model.mutable_graph()->add_input(), "b", onnx::TensorProto::FLOAT, {"batch", "3"});
  SetType(model.mutable_graph()->add_output(), "c", onnx::TensorProto::FLOAT, {"batch", "3"});
  AddNode(model, "Add", {"a", "b"}, {"c"});
  return model.SerializeAsString();
}

std::string MatMulModel(bool negated) {
  onnx::ModelProto model = NewModel();
  model.mutable_graph()->set_name("main_graph");
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2", "4"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2", "3"});
  onnx::TensorProto* weights = model.mutable_graph()->add_initializer();
  weights->set_name("w");
  weights->set_data_type(onnx::TensorProto::FLOAT);
  weights->add_dims(4);
  weights->add_dims(3);
  std::vector<float> data;
  for (int i = 0; i < 12; ++i) data.push_back(0.25f * static_cast<float>(i) - 1);
  weights->set_raw_data(data.data(), data.size() * sizeof(float));
  AddNode(model, "MatMul", {"x", "w"}, {negated ? "product" : "y"});
  if (negated) AddNode(model, "Neg", {"product"}, {"y"});
  return model.SerializeAsString();
}

std::string MaskModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"batch"});
  SetType(model.mutable_graph()->add_input(), "attention_mask", onnx::TensorProto::INT64, {"batch"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"batch"});
  SetType(model.mutable_graph()->add_output(), "shape", onnx::TensorProto::INT64, {"1"});
  onnx::NodeProto* cast = AddNode(model, "Cast", {"attention_mask"}, {"mask"});
  SetAttribute(cast, "to", int64_t{onnx::TensorProto::FLOAT});
  AddNode(model, "Mul", {"x", "mask"}, {"y"});
  AddNode(model, "Shape", {"y"}, {"shape"});
  return model.SerializeAsString();
}

std::string ChainModel(const std::vector<std::string>& operators) {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  std::string value = "x";
  for (size_t i = 0; i < operators.size(); ++i) {
    const std::string next = i + 1 == operators.size() ? "y" : "v" + std::to_string(i);
    if (operators[i] == "double") {
      AddNode(model, "Add", {value, value}, {next});
    } else if (operators[i] == "square") {
      onnx::TensorProto* two = model.mutable_graph()->add_initializer();
      two->set_name("two" + std::to_string(i));
      two->set_data_type(onnx::TensorProto::FLOAT);
      two->add_float_data(2);
      AddNode(model, "Pow", {value, two->name()}, {next});
    } else {
      AddNode(model, operators[i], {value}, {next});
    }
    value = next;
  }
  return model.SerializeAsString();
}

std::string IfModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "flag", onnx::TensorProto::BOOL, {});
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  onnx::TensorProto* one = model.mutable_graph()->add_initializer();
  one->set_name("one");
  one->set_data_type(onnx::TensorProto::FLOAT);
  one->add_float_data(1);
  onnx::NodeProto* branch = AddNode(model, "If", {"flag"}, {"y"});
  const auto add_body = [&](const std::string& name, const std::string& op, std::initializer_list<std::string> inputs) {
    onnx::AttributeProto* attribute = branch->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto* body = attribute->mutable_g();
    body->set_name(name);
    SetType(body->add_output(), name + "_y", onnx::TensorProto::FLOAT, {"2"});
    onnx::NodeProto* node = body->add_node();
    node->set_op_type(op);
    node->set_name(op + "_in_" + name);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(name + "_y");
  };
  add_body("then_branch", "Add", {"x", "one"});
  add_body("else_branch", "Neg", {"x"});
  return model.SerializeAsString();
}

std::string CountingModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "trips", onnx::TensorProto::INT64, {});
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::INT64, {"1"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::INT64, {"1"});
  onnx::TensorProto* one = model.mutable_graph()->add_initializer();
  one->set_name("one");
  one->set_data_type(onnx::TensorProto::INT64);
  one->add_dims(1);
  one->add_int64_data(1);
  onnx::AttributeProto* attribute = AddNode(model, "Loop", {"trips", "", "x"}, {"y"})->add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto* body = attribute->mutable_g();
  body->set_name("body");
  SetType(body->add_input(), "trip", onnx::TensorProto::INT64, {});
  SetType(body->add_input(), "go", onnx::TensorProto::BOOL, {});
  SetType(body->add_input(), "before", onnx::TensorProto::INT64, {"1"});
  SetType(body->add_output(), "on", onnx::TensorProto::BOOL, {});
  SetType(body->add_output(), "after", onnx::TensorProto::INT64, {"1"});
  const auto add = [&](const std::string& op, std::initializer_list<std::string> inputs, const std::string& output) {
    onnx::NodeProto* node = body->add_node();
    node->set_op_type(op);
    node->set_name(output);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(output);
  };
  add("Identity", {"go"}, "on");
  add("Add", {"before", "one"}, "after");
  return model.SerializeAsString();
}

std::string CacheModel(bool attends) {
  onnx::ModelProto model = NewModel();
  model.mutable_opset_import(0)->set_version(24);
  model.set_ir_version(11);
  SetType(model.mutable_graph()->add_input(), "past", onnx::TensorProto::FLOAT, {"1", "2", "N", "4"});
  SetType(model.mutable_graph()->add_input(), "update", onnx::TensorProto::FLOAT, {"1", "2", "1", "4"});
  SetType(model.mutable_graph()->add_input(), "at", onnx::TensorProto::INT64, {"1"});
  SetType(model.mutable_graph()->add_output(), "present", onnx::TensorProto::FLOAT, {"1", "2", "N", "4"});
  AddNode(model, "TensorScatter", {"past", "update", "at"}, {"present"});
  if (attends) {
    SetType(model.mutable_graph()->add_input(), "weights", onnx::TensorProto::FLOAT, {"1", "2", "1", "N"});
    SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"1", "2", "1", "4"});
    AddNode(model, "MatMul", {"weights", "present"}, {"y"});
  }
  return model.SerializeAsString();
}

std::string SquareModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2", "2"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2", "2"});
  AddNode(model, "MatMul", {"x", "x"}, {"y"});
  return model.SerializeAsString();
}

std::string FailingModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_input(), "at", onnx::TensorProto::INT64, {"1"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_output(), "z", onnx::TensorProto::FLOAT, {"1"});
  AddNode(model, "Add", {"x", "x"}, {"y"});
  AddNode(model, "Gather", {"y", "at"}, {"z"});
  return model.SerializeAsString();
}

std::string UnknownOperatorModel() {
  onnx::ModelProto model = NewModel();
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  AddNode(model, "Frobnicate", {"x"}, {"y"});
  return model.SerializeAsString();
}

std::string ForeignContextModel() {
  onnx::ModelProto model = NewModel();
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain("com.microsoft");
  opset->set_version(1);
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  onnx::NodeProto* node = AddNode(model, "EPContext", {"x"}, {"y"});
  node->set_domain("com.microsoft");
  SetAttribute(node, "main_context", 1);
  SetAttribute(node, "embed_mode", 1);
  SetAttribute(node, "ep_cache_context", std::string("bytes of a context"));
  SetAttribute(node, "source", std::string("Nobody"));
  SetAttribute(node, "partition_name", std::string("graph_nobody_0"));
  SetAttribute(node, "ep_sdk_version", std::string("1.2.3"));
  SetAttribute(node, "hardware_architecture", std::string("n1"));
  SetAttribute(node, "notes", std::string("made by hand"));
  return model.SerializeAsString();
}

std::string NamedModel(const std::string& name) {
  onnx::ModelProto model = NewModel();
  model.mutable_graph()->set_name(name);
  SetType(model.mutable_graph()->add_input(), name, onnx::TensorProto::FLOAT, {"2"});
  SetType(model.mutable_graph()->add_output(), name + "_out", onnx::TensorProto::FLOAT, {"2"});
  AddNode(model, "Relu", {name}, {name + "_out"})->set_name(name);
  return model.SerializeAsString();
}

std::string UntypedModel() {
  onnx::ModelProto model = NewModel();
  model.mutable_graph()->add_input()->set_name("pixels");
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  AddNode(model, "Relu", {"pixels"}, {"y"});
  return model.SerializeAsString();
}

std::string PatternModel(const std::string& pattern) {
  onnx::ModelProto model = NewModel();
  model.mutable_opset_import(0)->set_version(20);
  model.set_ir_version(9);
  SetType(model.mutable_graph()->add_input(), "x", onnx::TensorProto::STRING, {"1"});
  SetType(model.mutable_graph()->add_output(), "y", onnx::TensorProto::BOOL, {"1"});
  SetAttribute(AddNode(model, "RegexFullMatch", {"x"}, {"y"}), "pattern", pattern);
  return model.SerializeAsString();
}

}  // namespace epiphyte::test
