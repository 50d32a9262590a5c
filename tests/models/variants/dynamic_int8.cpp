#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "tests/models/rewrite/graph_rewriter.h"
#include "tests/models/rewrite/prepare.h"
#include "tests/models/variants/variant.h"

namespace epiphyte::test {
namespace {

class DynamicQuantizer {
 public:
  explicit DynamicQuantizer(onnx::GraphProto* graph) : graph_(graph) {}

  void Run() {
    for (onnx::NodeProto& node : graph_.TakeNodes()) {
      const bool is_product = node.op_type() == "Conv" || node.op_type() == "MatMul";
      const onnx::TensorProto* weight = is_product ? graph_.Constant(node.input(1)) : nullptr;
      if (weight == nullptr || weight->data_type() != onnx::TensorProto::FLOAT) {
        graph_.Keep(std::move(node));
      } else {
        WriteProduct(node, *weight);
      }
    }
    graph_.DropUnused();
  }

 private:
  struct Quantized {
    std::string numbers, scale, zero_point;
  };

  const Quantized& OfActivation(const std::string& value) {
    const auto [found, is_new] = activations_.try_emplace(value);
    if (!is_new) return found->second;
    found->second = {value + "_quantized", value + "_scale", value + "_zero_point"};
    onnx::NodeProto node;
    node.set_op_type("DynamicQuantizeLinear");
    node.set_name(value + "_QuantizeLinear");
    node.add_input(value);
    for (const auto* output : {&found->second.numbers, &found->second.scale, &found->second.zero_point})
      node.add_output(*output);
    graph_.Keep(std::move(node));
    return found->second;
  }

  Quantized OfWeight(const onnx::TensorProto& weight) {
    const std::string name = weight.name();
    const std::vector<int64_t> dims(weight.dims().begin(), weight.dims().end());
    const std::vector<float> values = FloatsOf(weight);
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    const float scale = largest > 0 ? largest / 127 : 1;
    std::string bytes;
    for (const float value : values) bytes.push_back(static_cast<char>(std::lround(value / scale)));
    return {graph_.Bytes(name + "_quantized", onnx::TensorProto::INT8, dims, std::move(bytes)),
            graph_.Floats(name + "_scale", {}, {scale}),
            graph_.Bytes(name + "_zero_point", onnx::TensorProto::INT8, {}, std::string(1, '\0'))};
  }

  void WriteProduct(const onnx::NodeProto& node, const onnx::TensorProto& weight) {
    const bool is_conv = node.op_type() == "Conv";
    const Quantized x = OfActivation(node.input(0));
    const Quantized w = OfWeight(weight);
    onnx::NodeProto product;
    product.set_op_type(is_conv ? "ConvInteger" : "MatMulInteger");
    product.set_name(node.name() + "_quant");
    *product.mutable_attribute() = node.attribute();
    for (const auto* input : {&x.numbers, &w.numbers, &x.zero_point, &w.zero_point}) product.add_input(*input);
    const std::string sums = node.output(0) + "_output_quantized";
    product.add_output(sums);
    graph_.Keep(std::move(product));

    const bool has_bias = is_conv && node.input_size() > 2;
    const std::string real = graph_.Emit("Cast", {sums}, "", {{"to", int64_t{onnx::TensorProto::FLOAT}}});
    const std::string scale = graph_.Emit("Mul", {x.scale, w.scale});
    const std::string scaled = graph_.Emit("Mul", {real, scale}, has_bias ? "" : node.output(0));
    if (!has_bias) return;
    const std::string shape = graph_.Ints("bias_shape", {4}, {1, -1, 1, 1});
    graph_.Emit("Add", {scaled, graph_.Emit("Reshape", {node.input(2), shape})}, node.output(0));
  }

  GraphRewriter graph_;
  std::map<std::string, Quantized> activations_;
};

}  // namespace

onnx::ModelProto ToDynamicInt8(onnx::ModelProto model) {
  ModelFile file{std::move(model), {}};
  PrepareForQuantization(&file);
  DynamicQuantizer(file.model.mutable_graph()).Run();
  return std::move(file.model);
}

}  // namespace epiphyte::test
