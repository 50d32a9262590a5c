#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/models/rewrite/graph_rewriter.h"
#include "tests/models/variants/variant.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kBlock = 32;
constexpr int kInt4 = 22;  // TensorProto::INT4, which libonnx has since 1.16

// Weights of shape [rows, columns] in blocks along the rows: numbers from -8 to 7, scales of shape [rows / kBlock,
// columns].
struct FourBits {
  int64_t rows = 0, columns = 0;
  std::vector<int8_t> numbers;
  std::vector<float> scales;

  explicit FourBits(const onnx::TensorProto& weight) : rows(weight.dims(0)), columns(weight.dims(1)) {
    const std::vector<float> values = FloatsOf(weight);
    numbers.resize(values.size());
    scales.resize(values.size() / kBlock);
    for (int64_t block = 0; block < rows / kBlock; ++block) {
      for (int64_t column = 0; column < columns; ++column) {
        const auto at = [&](int64_t i) { return static_cast<size_t>((block * kBlock + i) * columns + column); };
        float widest = 0;  // number of largest magnitude, with its sign; it is quantized to -8
        for (int64_t i = 0; i < kBlock; ++i) {
          if (std::abs(values[at(i)]) > std::abs(widest)) widest = values[at(i)];
        }
        const float scale = widest == 0 ? 1 : widest / -8;
        scales[static_cast<size_t>(block * columns + column)] = scale;
        for (int64_t i = 0; i < kBlock; ++i) {
          numbers[at(i)] = static_cast<int8_t>(std::clamp(std::lround(values[at(i)] / scale), -8L, 7L));
        }
      }
    }
  }
};

const onnx::TensorProto* WeightOf(const GraphRewriter& graph, const onnx::NodeProto& node) {
  if (node.op_type() != "MatMul") return nullptr;
  const onnx::TensorProto* weight = graph.Constant(node.input(1));
  const bool fits = weight != nullptr && weight->data_type() == onnx::TensorProto::FLOAT && weight->dims_size() == 2 &&
                    weight->dims(0) % kBlock == 0 && weight->dims(1) % 2 == 0;
  return fits ? weight : nullptr;
}

template <typename Write>
void RewriteProducts(onnx::ModelProto* model, const Write& write) {
  GraphRewriter graph(model->mutable_graph());
  int written = 0;
  for (onnx::NodeProto& node : graph.TakeNodes()) {
    const onnx::TensorProto* weight = WeightOf(graph, node);
    if (weight == nullptr) {
      graph.Keep(std::move(node));
      continue;
    }
    const std::string name = weight->name();
    write(&graph, node, name, FourBits(*weight));
    ++written;
  }
  if (written == 0) throw std::invalid_argument("the model has no MatMul whose weights could have 4 bits");
  graph.DropUnused();
}

// The numbers have the shape [columns, blocks, bytes]. Two of them share a byte, the first in its lower half; 8 stands
// for zero.
void WriteNBits(GraphRewriter* graph, const onnx::NodeProto& node, const std::string& name, const FourBits& weight) {
  const int64_t blocks = weight.rows / kBlock;
  std::string bytes;
  std::vector<float> scales;
  for (int64_t column = 0; column < weight.columns; ++column) {
    const auto code = [&](int64_t row) {
      return static_cast<unsigned>(weight.numbers[static_cast<size_t>(row * weight.columns + column)] + 8);
    };
    for (int64_t row = 0; row < weight.rows; row += 2)
      bytes.push_back(static_cast<char>(code(row) | code(row + 1) << 4));
    for (int64_t block = 0; block < blocks; ++block)
      scales.push_back(weight.scales[static_cast<size_t>(block * weight.columns + column)]);
  }
  const std::string numbers =
      graph->Bytes(name + "_Q4", onnx::TensorProto::UINT8, {weight.columns, blocks, kBlock / 2}, std::move(bytes));
  const std::string scale = graph->Floats(name + "_scales", {weight.columns * blocks}, scales);
  graph->Emit("MatMulNBits", {node.input(0), numbers, scale}, node.output(0),
              {{"K", weight.rows}, {"N", weight.columns}, {"bits", 4}, {"block_size", kBlock}}, "com.microsoft");
}

void WriteDequantized(GraphRewriter* graph, const onnx::NodeProto& node, const std::string& name,
                      const FourBits& weight) {
  std::string bytes;
  for (size_t i = 0; i < weight.numbers.size(); i += 2) {
    bytes.push_back(static_cast<char>((weight.numbers[i] & 15) | (weight.numbers[i + 1] & 15) << 4));
  }
  const std::string numbers = graph->Bytes(name + "_Q4", static_cast<onnx::TensorProto::DataType>(kInt4),
                                           {weight.rows, weight.columns}, std::move(bytes));
  const std::string scale = graph->Floats(name + "_scales", {weight.rows / kBlock, weight.columns}, weight.scales);
  const std::string real = graph->Emit("DequantizeLinear", {numbers, scale}, "", {{"axis", 0}, {"block_size", kBlock}});
  graph->Emit("MatMul", {node.input(0), real}, node.output(0));
}

// The only change since opset 17 that matters here: ReduceMean takes its axes as an input.
void RaiseToOpset21(onnx::ModelProto* model) {
  GraphRewriter graph(model->mutable_graph());
  for (onnx::NodeProto& node : graph.TakeNodes()) {
    const onnx::AttributeProto* axes = node.op_type() == "ReduceMean" ? FindAttribute(node, "axes") : nullptr;
    if (axes == nullptr) {
      graph.Keep(std::move(node));
      continue;
    }
    const std::vector<int64_t> numbers(axes->ints().begin(), axes->ints().end());
    const std::string input = graph.Ints(node.name() + "_axes", {axes->ints_size()}, numbers);
    graph.Emit("ReduceMean", {node.input(0), input}, node.output(0), {{"keepdims", IntAttribute(node, "keepdims", 1)}});
  }
  model->mutable_opset_import(0)->set_version(21);
}

}  // namespace

onnx::ModelProto ToMatMulNBits(onnx::ModelProto model) {
  RewriteProducts(&model, WriteNBits);
  onnx::OperatorSetIdProto* import = model.add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  return model;
}

onnx::ModelProto ToBlockDequantized(onnx::ModelProto model) {
  RewriteProducts(&model, WriteDequantized);
  RaiseToOpset21(&model);
  return model;
}

}  // namespace epiphyte::test
