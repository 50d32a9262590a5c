// Models for tests, made with protobuf itself, so that the core's own reader and writer are checked against protobuf.
// No other test file includes libonnx, because its headers need two macros.
#pragma once

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/onnx/model_reader.h"

namespace epiphyte::test {

struct ProtoModel {
  onnx::ModelProto proto;

  explicit ProtoModel(int64_t opset = 17, int64_t ir_version = 8) {
    proto.set_ir_version(ir_version);
    Opset("", opset);
    graph().set_name("g");
  }

  onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  ProtoModel& Opset(const std::string& domain, int64_t version) {
    onnx::OperatorSetIdProto* import = proto.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
    return *this;
  }

  // `dims` are numbers, names of symbols, or -1 for unknown dimensions.
  static void SetTensorType(onnx::ValueInfoProto* value, const std::string& name, int32_t element,
                            const std::vector<std::string>& dims) {
    value->set_name(name);
    onnx::TypeProto_Tensor* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(element);
    onnx::TensorShapeProto* shape = tensor->mutable_shape();
    for (const std::string& dim : dims) {
      onnx::TensorShapeProto_Dimension* out = shape->add_dim();
      if (!dim.empty() && (std::isdigit(static_cast<unsigned char>(dim[0])) != 0))
        out->set_dim_value(std::stoll(dim));
      else if (dim != "?")
        out->set_dim_param(dim);
    }
  }

  ProtoModel& Input(const std::string& name, int32_t element, const std::vector<std::string>& dims) {
    SetTensorType(graph().add_input(), name, element, dims);
    return *this;
  }
  ProtoModel& Output(const std::string& name, int32_t element, const std::vector<std::string>& dims) {
    SetTensorType(graph().add_output(), name, element, dims);
    return *this;
  }
  // Adds an output of which only the name is declared.
  ProtoModel& Output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  onnx::NodeProto& Node(const std::string& op_type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& domain = "") {
    return AddNode(&graph(), op_type, inputs, outputs, domain);
  }
  static onnx::NodeProto& AddNode(onnx::GraphProto* graph, const std::string& op_type,
                                  const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                  const std::string& domain = "") {
    onnx::NodeProto* node = graph->add_node();
    FillNode(node, op_type, inputs, outputs, domain);
    return *node;
  }
  static void FillNode(onnx::NodeProto* node, const std::string& op_type, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs, const std::string& domain = "") {
    node->set_op_type(op_type);
    node->set_domain(domain);
    node->set_name(outputs.empty() ? op_type : "make_" + outputs[0]);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
  }

  static onnx::AttributeProto& Attribute(onnx::NodeProto& node, const std::string& name,
                                         onnx::AttributeProto_AttributeType type) {
    onnx::AttributeProto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
  }
  static void Int(onnx::NodeProto& node, const std::string& name, int64_t value) {
    Attribute(node, name, onnx::AttributeProto::INT).set_i(value);
  }
  static void Ints(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto& attribute = Attribute(node, name, onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute.add_ints(value);
  }

  onnx::TensorProto& Initializer(const std::string& name, int32_t element, const std::vector<int64_t>& dims) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(element);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    return *tensor;
  }
  ProtoModel& Int64s(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto& tensor = Initializer(name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())});
    for (const int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }

  std::string Bytes() const { return proto.SerializeAsString(); }
  core::Model Read(const core::ReadOptions& options = {}) const { return ReadBytes(Bytes(), options); }

  static core::Model ReadBytes(const std::string& bytes, const core::ReadOptions& options = {}) {
    return core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, options);
  }
};

inline constexpr int32_t kFloat = onnx::TensorProto::FLOAT;
inline constexpr int32_t kInt64 = onnx::TensorProto::INT64;
inline constexpr int32_t kBool = onnx::TensorProto::BOOL;

// Returns the model y = Relu(x), with x float[2,3].
inline ProtoModel ReluModel(int64_t opset = 17) {
  ProtoModel model(opset);
  model.Input("x", kFloat, {"2", "3"}).Output("y", kFloat, {"2", "3"});
  model.Node("Relu", {"x"}, {"y"});
  return model;
}

// Expects a core::Error with that code. Its message must be one line and contain all of `parts`.
inline void ExpectError(const std::function<void()>& action, core::StatusCode code,
                        const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const core::Error& error) {
    EXPECT_EQ(core::StatusCodeName(error.code()), core::StatusCodeName(code)) << error.message();
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    for (const std::string& part : parts) {
      EXPECT_NE(error.message().find(part), std::string::npos) << "'" << part << "' not in: " << error.message();
    }
    return;
  }
  ADD_FAILURE() << "no error, " << core::StatusCodeName(code) << " expected";
}

inline std::string TypeOf(const core::Model& model, const std::string& value) {
  const core::ValueDef* found = model.graph->FindValue(value);
  if (found == nullptr) return "no such value";
  return found->type() ? found->type()->ToString() : "unknown";
}

}  // namespace epiphyte::test
