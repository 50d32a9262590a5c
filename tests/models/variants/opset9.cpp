#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/models/rewrite/graph_rewriter.h"
#include "tests/models/rewrite/value_shapes.h"
#include "tests/models/variants/variant.h"

namespace epiphyte::test {
namespace {

using Ints = std::vector<int64_t>;

class OlderExporter {
 public:
  explicit OlderExporter(onnx::ModelProto* model) : shapes_(model), graph_(model->mutable_graph()) {}

  void Run() {
    for (onnx::NodeProto& node : graph_.TakeNodes()) Write(std::move(node));
    graph_.DropUnused();
  }

 private:
  const Ints& ShapeOf(const std::string& value) const { return shapes_.Of(value); }

  void Write(onnx::NodeProto node) {
    const std::string& type = node.op_type();
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) throw std::invalid_argument("bodies aren't written as opset 9");
    }
    if (type == "Add") return WriteAdd(std::move(node));
    if (type == "BatchNormalization") return WriteNormalization(node);
    if (type == "GlobalAveragePool") return WriteGlobalPool(node);
    if (type == "Clip") return WriteClip(node);
    if (type == "MaxPool") return WriteMaxPool(std::move(node));
    if (type == "Softmax") return WriteSoftmax(std::move(node));
    if (type == "Slice") return WriteSlice(node);
    if (type == "Pad") return WritePad(node);
    if (type == "Squeeze" || type == "Unsqueeze" || type == "ReduceSum") MoveToAttribute(&node, "axes");
    if (type == "Split") MoveToAttribute(&node, "split");
    CountAxesFromTheFront(&node);
    graph_.Keep(std::move(node));
  }

  // Replaces input 1, a constant of integers, by the attribute `name`.
  void MoveToAttribute(onnx::NodeProto* node, const char* name) {
    if (node->input_size() < 2) return;
    const Ints numbers = graph_.IntsOf(node->input(1));
    node->mutable_input()->DeleteSubrange(1, 1);
    SetAttribute(node, {name, numbers});
  }

  // Makes negative axes positive if the rank is known. For an unknown rank they stay negative, as tools of that time
  // left them, too.
  void CountAxesFromTheFront(onnx::NodeProto* node) {
    const int64_t rank = node->input_size() == 0 ? 0 : KnownRank(node->input(0));
    for (onnx::AttributeProto& attribute : *node->mutable_attribute()) {
      if (attribute.name() == "axis" && attribute.i() < 0) attribute.set_i(attribute.i() + rank);
      if (attribute.name() != "axes") continue;
      for (int64_t& axis : *attribute.mutable_ints()) axis += axis < 0 ? rank : 0;
    }
  }
  int64_t KnownRank(const std::string& value) const {
    const Ints* shape = shapes_.Find(value);
    return shape == nullptr ? 0 : static_cast<int64_t>(shape->size());
  }

  // In opset 9, Softmax runs over all axes from `axis` on. If `axis` isn't known to be the last one, Softmax is written
  // in pieces.
  void WriteSoftmax(onnx::NodeProto node) {
    const int64_t rank = KnownRank(node.input(0)), axis = IntAttribute(node, "axis", -1);
    if (axis == -1 || axis == rank - 1) {
      SetAttribute(&node, {"axis", rank == 0 ? int64_t{-1} : rank - 1});
      return graph_.Keep(std::move(node));
    }
    const std::vector<Attribute> along = {{"axes", Ints{axis}}, {"keepdims", 1}};
    const std::string most = graph_.Emit("ReduceMax", {node.input(0)}, "", along);
    const std::string power = graph_.Emit("Exp", {graph_.Emit("Sub", {node.input(0), most})});
    graph_.Emit("Div", {power, graph_.Emit("ReduceSum", {power}, "", along)}, node.output(0));
  }

  void WriteAdd(onnx::NodeProto node) {
    const bool has_constant = graph_.Constant(node.input(0)) != nullptr || graph_.Constant(node.input(1)) != nullptr;
    const Ints* shape = shapes_.Find(node.output(0));
    if (!has_constant && shape != nullptr && shape->size() == 4) node.set_op_type("Sum");
    graph_.Keep(std::move(node));
  }

  // Merges mean and variance into scale and bias. The mean then is zero and the variance one.
  void WriteNormalization(const onnx::NodeProto& node) {
    std::vector<float> parts[4];  // scale, bias, mean, variance
    for (int i = 0; i < 4; ++i) {
      const onnx::TensorProto* tensor = graph_.Constant(node.input(i + 1));
      if (tensor == nullptr) throw std::invalid_argument(node.name() + " has parameters that are no constants");
      parts[i] = FloatsOf(*tensor);
    }
    const float epsilon = FloatAttribute(node, "epsilon", 1e-5f);
    std::vector<float> scale, bias;
    for (size_t c = 0; c < parts[0].size(); ++c) {
      const float factor = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
      scale.push_back(factor * std::sqrt(1 + epsilon));
      bias.push_back(parts[1][c] - parts[2][c] * factor);
    }
    const auto channels = static_cast<int64_t>(scale.size());
    const std::string shape = graph_.Ints("channels_" + std::to_string(channels), {1}, {channels});
    const auto filled = [&](float value) {
      onnx::TensorProto number;
      number.add_dims(1);
      number.set_data_type(onnx::TensorProto::FLOAT);
      number.add_float_data(value);
      return graph_.Emit("ConstantOfShape", {shape}, "", {{"value", number}});
    };
    const std::string mean = filled(0), variance = filled(1);
    graph_.Emit("BatchNormalization",
                {node.input(0), graph_.Floats(node.input(1) + "_merged", {channels}, scale),
                 graph_.Floats(node.input(2) + "_merged", {channels}, bias), mean, variance},
                node.output(0), {{"epsilon", epsilon}, {"momentum", 0.9f}});
  }

  void WriteGlobalPool(const onnx::NodeProto& node) {
    const Ints& shape = ShapeOf(node.input(0));
    const Ints size(shape.begin() + 2, shape.end());
    for (const int64_t dim : size) {
      if (dim < 1) throw std::invalid_argument(node.name() + " pools an image whose size isn't known");
    }
    graph_.Emit("AveragePool", {node.input(0)}, node.output(0),
                {{"kernel_shape", size}, {"pads", Ints(2 * size.size(), 0)}, {"strides", Ints(size.size(), 1)}});
  }

  void WriteClip(const onnx::NodeProto& node) {
    std::vector<Attribute> bounds;
    for (int i = 1; i < node.input_size(); ++i) {
      const onnx::TensorProto* bound = graph_.Constant(node.input(i));
      if (bound == nullptr) throw std::invalid_argument(node.name() + " has a bound that is no constant");
      bounds.push_back({i == 1 ? "min" : "max", FloatsOf(*bound)[0]});
    }
    graph_.Emit("Clip", {node.input(0)}, node.output(0), bounds);
  }

  // ceil_mode doesn't exist in opset 9. The padding at the end is increased by the same amount.
  void WriteMaxPool(onnx::NodeProto node) {
    const bool rounds_up = IntAttribute(node, "ceil_mode", 0) != 0;
    EraseAttribute(&node, "ceil_mode");
    if (rounds_up) {
      const Ints& in = ShapeOf(node.input(0));
      const Ints& out = ShapeOf(node.output(0));
      const auto numbers = [&](const char* name, int64_t fallback, size_t count) {
        const onnx::AttributeProto* attribute = FindAttribute(node, name);
        return attribute == nullptr ? Ints(count, fallback) : Ints(attribute->ints().begin(), attribute->ints().end());
      };
      const size_t axes = in.size() - 2;
      const Ints kernel = numbers("kernel_shape", 1, axes), strides = numbers("strides", 1, axes);
      Ints pads = numbers("pads", 0, 2 * axes);
      for (size_t i = 0; i < axes; ++i) {
        const int64_t reach = (out[i + 2] - 1) * strides[i] + kernel[i];
        pads[axes + i] = std::max(pads[axes + i], reach - in[i + 2] - pads[i]);
      }
      SetAttribute(&node, {"pads", pads});
    }
    graph_.Keep(std::move(node));
  }

  void WriteSlice(const onnx::NodeProto& node) {
    if (node.input_size() > 4) {
      for (const int64_t step : graph_.IntsOf(node.input(4))) {
        if (step != 1) throw std::invalid_argument(node.name() + " has steps, which opset 9 lacks");
      }
    }
    std::vector<Attribute> attributes = {{"starts", graph_.IntsOf(node.input(1))},
                                         {"ends", graph_.IntsOf(node.input(2))}};
    if (node.input_size() > 3) attributes.push_back({"axes", graph_.IntsOf(node.input(3))});
    graph_.Emit("Slice", {node.input(0)}, node.output(0), attributes);
  }

  void WritePad(const onnx::NodeProto& node) {
    const onnx::TensorProto* value = node.input_size() > 2 ? graph_.Constant(node.input(2)) : nullptr;
    const onnx::AttributeProto* mode = FindAttribute(node, "mode");
    graph_.Emit("Pad", {node.input(0)}, node.output(0),
                {{"mode", mode == nullptr ? "constant" : mode->s().c_str()},
                 {"pads", graph_.IntsOf(node.input(1))},
                 {"value", value == nullptr ? 0.0f : FloatsOf(*value)[0]}});
  }

  const ValueShapes shapes_;
  GraphRewriter graph_;
};

}  // namespace

onnx::ModelProto ToOpset9(onnx::ModelProto model) {
  OlderExporter(&model).Run();
  model.mutable_opset_import(0)->set_version(9);
  return model;
}

}  // namespace epiphyte::test
