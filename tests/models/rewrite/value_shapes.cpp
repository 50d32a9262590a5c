#include "tests/models/rewrite/value_shapes.h"

#include <onnx/shape_inference/implementation.h>

#include <stdexcept>

namespace epiphyte::test {

ValueShapes::ValueShapes(onnx::ModelProto* model) {
  // The last argument enables data propagation, so that computed shapes are inferred, too.
  onnx::shape_inference::InferShapes(*model, onnx::OpSchemaRegistry::Instance(), {false, 0, true});
  const auto add = [&](const onnx::ValueInfoProto& value) {
    if (!value.type().tensor_type().has_shape()) return;
    std::vector<int64_t>& dims = shapes_[value.name()];
    for (const auto& dim : value.type().tensor_type().shape().dim()) {
      dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
  };
  const onnx::GraphProto& graph = model->graph();
  for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (!shapes_.contains(value.name())) add(value);
    }
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    shapes_[tensor.name()] = std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end());
  }
}

const std::vector<int64_t>* ValueShapes::Find(const std::string& value) const {
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? nullptr : &found->second;
}

const std::vector<int64_t>& ValueShapes::Of(const std::string& value) const {
  const std::vector<int64_t>* shape = Find(value);
  if (shape == nullptr) throw std::invalid_argument("the shape of '" + value + "' isn't known");
  return *shape;
}

}  // namespace epiphyte::test
