#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "epiphyte/kit/shape/float_types.hpp"
#include "tests/models/rewrite/graph_rewriter.h"
#include "tests/models/variants/variant.h"

namespace epiphyte::test {
namespace {

constexpr float kLargest = 65504;

void Convert(onnx::ValueInfoProto* value) {
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  if (tensor->elem_type() == onnx::TensorProto::FLOAT) tensor->set_elem_type(onnx::TensorProto::FLOAT16);
}

}  // namespace

void MakeFloat16(onnx::TensorProto* tensor) {
  if (tensor->data_type() != onnx::TensorProto::FLOAT) return;
  std::string bytes;
  for (const float value : FloatsOf(*tensor)) {
    const kit::Float16 half(std::clamp(value, -kLargest, kLargest));
    bytes.append(reinterpret_cast<const char*>(&half.bits), sizeof(half.bits));
  }
  tensor->clear_float_data();
  tensor->set_raw_data(std::move(bytes));
  tensor->set_data_type(onnx::TensorProto::FLOAT16);
}

onnx::ModelProto ToFloat16(onnx::ModelProto model) {
  onnx::GraphProto* graph = model.mutable_graph();
  graph->clear_value_info();
  // The regions and scales of Resize are float, whatever type it resizes.
  std::set<std::string> float_always;
  for (const onnx::NodeProto& node : graph->node()) {
    if (node.op_type() != "Resize") continue;
    for (int i = 1; i < std::min(node.input_size(), 3); ++i) float_always.insert(node.input(i));
  }
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    if (!float_always.contains(tensor.name())) MakeFloat16(&tensor);
  }
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t() && !float_always.contains(node.output(0))) MakeFloat16(attribute.mutable_t());
      const bool casts_to_float =
          node.op_type() == "Cast" && attribute.name() == "to" && attribute.i() == onnx::TensorProto::FLOAT;
      if (casts_to_float) attribute.set_i(onnx::TensorProto::FLOAT16);
    }
  }
  for (onnx::ValueInfoProto& input : *graph->mutable_input()) Convert(&input);
  for (onnx::ValueInfoProto& output : *graph->mutable_output()) Convert(&output);
  return model;
}

}  // namespace epiphyte::test
