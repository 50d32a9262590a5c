#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/models/rewrite/graph_rewriter.h"
#include "tests/models/rewrite/value_shapes.h"
#include "tests/models/variants/variant.h"

namespace epiphyte::test {
namespace {

using Ints = std::vector<int64_t>;

bool IsImage(const onnx::ValueInfoProto& input) {
  const auto& type = input.type().tensor_type();
  return type.elem_type() == onnx::TensorProto::FLOAT && type.shape().dim_size() == 4;
}

class TensorFlowExporter {
 public:
  explicit TensorFlowExporter(onnx::ModelProto* model)
      : shapes_(model), model_(*model->mutable_graph()), graph_(&model_) {}

  void Run() {
    std::vector<onnx::NodeProto> nodes = graph_.TakeNodes();
    for (const onnx::NodeProto& node : nodes) producers_[node.output(0)] = &node;
    TurnInputs(&nodes);
    for (const onnx::NodeProto& node : nodes) Write(node);
    graph_.DropUnused();
  }

 private:
  // Turns image inputs to channels last, with a Transpose behind each.
  void TurnInputs(std::vector<onnx::NodeProto>* nodes) {
    for (onnx::ValueInfoProto& input : *model_.mutable_input()) {
      if (!IsImage(input)) continue;
      auto* dims = input.mutable_type()->mutable_tensor_type()->mutable_shape();
      dims->mutable_dim()->SwapElements(1, 2);
      dims->mutable_dim()->SwapElements(2, 3);
      const std::string turned = graph_.Emit("Transpose", {input.name()}, "", {{"perm", Ints{0, 3, 1, 2}}});
      for (onnx::NodeProto& node : *nodes) {
        for (std::string& read : *node.mutable_input()) {
          if (read == input.name()) read = turned;
        }
      }
    }
  }

  void Write(const onnx::NodeProto& node) {
    const std::string& type = node.op_type();
    if (type == "Conv") return WriteConv(node);
    if (type == "Clip") return WriteClip(node);
    if (type == "GlobalAveragePool") {
      graph_.Emit("ReduceMean", {node.input(0)}, node.output(0), {{"axes", Ints{2, 3}}, {"keepdims", 1}});
      return;
    }
    if (type == "Flatten") return WriteFlatten(node);
    if (type == "Gemm") return WriteGemm(node);
    if (type == "MatMul") return WriteMatMul(node);
    if (type == "Pow" && IsTwo(node.input(1))) {
      graph_.Emit("Mul", {node.input(0), node.input(0)}, node.output(0));
      return;
    }
    if (type == "Div") return WriteDiv(node);
    if (type == "Add" && WriteNormalization(node)) return;
    graph_.Keep(node);
  }

  const onnx::NodeProto* Producer(const std::string& value, const char* type) const {
    const auto found = producers_.find(value);
    return found != producers_.end() && found->second->op_type() == type ? found->second : nullptr;
  }
  bool IsTwo(const std::string& value) const {
    const onnx::TensorProto* tensor = graph_.Constant(value);
    return tensor != nullptr && IsOneFloat(*tensor) && FloatsOf(*tensor)[0] == 2;
  }

  // A padded Conv with a stride gets a Pad in front of it. Without a stride, its padding becomes "SAME".
  void WriteConv(const onnx::NodeProto& node) {
    onnx::NodeProto conv = node;
    const auto numbers = [&](const char* name) {
      const onnx::AttributeProto* attribute = FindAttribute(node, name);
      return attribute == nullptr ? Ints() : Ints(attribute->ints().begin(), attribute->ints().end());
    };
    const Ints pads = numbers("pads"), strides = numbers("strides"), kernel = numbers("kernel_shape");
    const bool is_padded = std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; });
    const bool has_stride = std::ranges::any_of(strides, [](int64_t stride) { return stride != 1; });
    bool keeps_size = !has_stride && pads.size() == 2 * kernel.size();
    for (size_t i = 0; keeps_size && i < kernel.size(); ++i) {
      keeps_size = kernel[i] % 2 == 1 && pads[i] == kernel[i] / 2 && pads[kernel.size() + i] == kernel[i] / 2;
    }
    if (is_padded) EraseAttribute(&conv, "pads");
    if (is_padded && keeps_size) {
      SetAttribute(&conv, {"auto_pad", "SAME_UPPER"});
    } else if (is_padded) {
      Ints all = {0, 0};
      all.insert(all.end(), pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(kernel.size()));
      all.insert(all.end(), {0, 0});
      all.insert(all.end(), pads.begin() + static_cast<std::ptrdiff_t>(kernel.size()), pads.end());
      const auto count = static_cast<int64_t>(all.size());
      conv.set_input(0, graph_.Emit("Pad", {node.input(0), graph_.Ints(node.name() + "_pads", {count}, all)}));
    }
    graph_.Keep(std::move(conv));
  }

  void WriteClip(const onnx::NodeProto& node) {
    graph_.Emit("Min", {graph_.Emit("Max", {node.input(0), node.input(1)}), node.input(2)}, node.output(0));
  }

  void WriteFlatten(const onnx::NodeProto& node) {
    int64_t features = 1;
    const Ints* shape = shapes_.Find(node.input(0));
    for (size_t i = 1; shape != nullptr && i < shape->size(); ++i) features *= (*shape)[i];
    if (shape == nullptr || IntAttribute(node, "axis", 1) != 1 || features <= 0) {
      graph_.Keep(node);
      return;
    }
    const std::string wanted = graph_.Ints("flat_" + std::to_string(features), {2}, {-1, features});
    graph_.Emit("Reshape", {node.input(0), wanted}, node.output(0));
  }

  void WriteGemm(const onnx::NodeProto& node) {
    const onnx::TensorProto* weight = graph_.Constant(node.input(1));
    if (weight == nullptr || IntAttribute(node, "transA", 0) != 0 || FloatAttribute(node, "alpha", 1) != 1 ||
        FloatAttribute(node, "beta", 1) != 1) {
      graph_.Keep(node);
      return;
    }
    std::string matrix = node.input(1);
    if (IntAttribute(node, "transB", 0) != 0) {
      const std::vector<float> values = FloatsOf(*weight);
      const int64_t rows = weight->dims(0), columns = weight->dims(1);
      std::vector<float> turned(values.size());
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          turned[static_cast<size_t>(c * rows + r)] = values[static_cast<size_t>(r * columns + c)];
        }
      }
      matrix = graph_.Floats(node.input(1) + "_kernel", {columns, rows}, turned);
    }
    const std::string product = graph_.Emit("MatMul", {node.input(0), matrix});
    graph_.Emit("Add", {product, node.input(2)}, node.output(0));
  }

  // A MatMul of a batch of rows becomes a MatMul of one matrix, with a Reshape before and after.
  void WriteMatMul(const onnx::NodeProto& node) {
    const onnx::TensorProto* weight = graph_.Constant(node.input(1));
    const Ints* known = shapes_.Find(node.input(0));
    const Ints rows = known == nullptr ? Ints() : *known;
    if (weight == nullptr || weight->dims_size() != 2 || rows.size() < 3 || std::ranges::count(rows, -1) > 1) {
      graph_.Keep(node);
      return;
    }
    const int64_t in = weight->dims(0), out = weight->dims(1);
    const std::string flat = graph_.Ints("rows_of_" + std::to_string(in), {2}, {-1, in});
    const std::string product = graph_.Emit("MatMul", {graph_.Emit("Reshape", {node.input(0), flat}), node.input(1)});
    Ints dims = rows;
    dims.back() = out;
    const std::string shape = graph_.Ints(node.name() + "_dims", {static_cast<int64_t>(dims.size())}, dims);
    graph_.Emit("Reshape", {product, shape}, node.output(0));
  }

  void WriteDiv(const onnx::NodeProto& node) {
    const onnx::TensorProto* divisor = graph_.Constant(node.input(1));
    if (divisor == nullptr || !IsOneFloat(*divisor)) {
      graph_.Keep(node);
      return;
    }
    const std::string factor = graph_.Floats(node.name() + "_factor", {}, {1 / FloatsOf(*divisor)[0]});
    graph_.Emit("Mul", {node.input(0), factor}, node.output(0));
  }

  // Layer normalization, (x - mean) / deviation * weight + bias, becomes x * w + (bias - mean * w) with w = weight /
  // deviation. Nothing reads the nodes in between any more.
  bool WriteNormalization(const onnx::NodeProto& add) {
    const onnx::NodeProto* scaled = Producer(add.input(0), "Mul");
    const onnx::NodeProto* normal = scaled == nullptr ? nullptr : Producer(scaled->input(0), "Div");
    const onnx::NodeProto* centred = normal == nullptr ? nullptr : Producer(normal->input(0), "Sub");
    if (centred == nullptr || Producer(normal->input(1), "Sqrt") == nullptr ||
        Producer(centred->input(1), "ReduceMean") == nullptr) {
      return false;
    }
    const std::string weight = graph_.Emit("Mul", {graph_.Emit("Reciprocal", {normal->input(1)}), scaled->input(1)});
    const std::string product = graph_.Emit("Mul", {centred->input(0), weight});
    const std::string shift = graph_.Emit("Sub", {add.input(1), graph_.Emit("Mul", {centred->input(1), weight})});
    graph_.Emit("Add", {product, shift}, add.output(0));
    return true;
  }

  const ValueShapes shapes_;
  onnx::GraphProto& model_;
  GraphRewriter graph_;
  std::map<std::string, const onnx::NodeProto*> producers_;
};

}  // namespace

onnx::ModelProto ToTensorFlow(onnx::ModelProto model) {
  TensorFlowExporter(&model).Run();
  return model;
}

void MakeChannelsLast(onnx::TensorProto* sample) {
  if (sample->data_type() != onnx::TensorProto::FLOAT || sample->dims_size() != 4) return;
  const std::vector<float> values = FloatsOf(*sample);
  const auto images = static_cast<size_t>(sample->dims(0)), channels = static_cast<size_t>(sample->dims(1));
  const size_t pixels = values.size() / images / channels;
  std::vector<float> turned(values.size());
  for (size_t n = 0; n < images; ++n) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < pixels; ++p) {
        turned[(n * pixels + p) * channels + c] = values[(n * channels + c) * pixels + p];
      }
    }
  }
  sample->set_raw_data(reinterpret_cast<const char*>(turned.data()), turned.size() * sizeof(float));
  sample->mutable_dims()->SwapElements(1, 2);
  sample->mutable_dims()->SwapElements(2, 3);
}

}  // namespace epiphyte::test
