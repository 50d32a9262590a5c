#include "tests/models/rewrite/prepare.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/rewrite/graph_index.h"

namespace epiphyte::test {
namespace {

using Doomed = std::set<int>;  // indices of the nodes to remove

void RemoveNodes(onnx::GraphProto* graph, const Doomed& doomed) {
  int kept = 0;
  for (int n = 0; n < graph->node_size(); ++n) {
    if (doomed.contains(n)) continue;
    if (kept != n) graph->mutable_node()->SwapElements(kept, n);
    ++kept;
  }
  graph->mutable_node()->DeleteSubrange(kept, graph->node_size() - kept);
}

void RemoveUnusedInitializers(onnx::GraphProto* graph) {
  const GraphIndex index(*graph);
  int kept = 0;
  for (int i = 0; i < graph->initializer_size(); ++i) {
    const std::string& name = graph->initializer(i).name();
    if (index.Readers(name).empty() && !index.IsOutput(name) && !index.IsCaptured(name)) continue;
    if (kept != i) graph->mutable_initializer()->SwapElements(kept, i);
    ++kept;
  }
  graph->mutable_initializer()->DeleteSubrange(kept, graph->initializer_size() - kept);
}

onnx::TensorProto* AddFloats(onnx::GraphProto* graph, const std::string& name, const std::vector<int64_t>& dims,
                             const std::vector<float>& values) {
  onnx::TensorProto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
  tensor->set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return tensor;
}

void MakeConstantsInitializers(onnx::GraphProto* graph) {
  Doomed doomed;
  for (int n = 0; n < graph->node_size(); ++n) {
    const onnx::NodeProto& node = graph->node(n);
    const onnx::AttributeProto* value = node.op_type() == "Constant" ? FindAttribute(node, "value") : nullptr;
    if (value == nullptr) continue;
    onnx::TensorProto* tensor = graph->add_initializer();
    *tensor = value->t();
    tensor->set_name(node.output(0));
    doomed.insert(n);
  }
  RemoveNodes(graph, doomed);
}

// --- BatchNormalization

// y = x * factor + offset, for each channel.
struct Affine {
  std::vector<float> factor, offset;
};

std::optional<Affine> ReadNormalization(const ModelFile& file, const GraphIndex& index, const onnx::NodeProto& node) {
  std::vector<float> parts[4];  // scale, bias, mean, variance
  for (int i = 0; i < 4; ++i) {
    const onnx::TensorProto* tensor = index.Initializer(node.input(i + 1));
    if (tensor == nullptr) return {};
    parts[i] = file.Floats(*tensor);
  }
  Affine affine;
  for (size_t c = 0; c < parts[0].size(); ++c) {
    const float factor = parts[0][c] / std::sqrt(parts[3][c] + FloatAttribute(node, "epsilon", 1e-5f));
    affine.factor.push_back(factor);
    affine.offset.push_back(parts[1][c] - parts[2][c] * factor);
  }
  return affine;
}

// Multiplies the weights by the factors, and adds the offsets as a bias.
void FoldNormalization(ModelFile* file, int conv, int normalization) {
  onnx::GraphProto* graph = file->model.mutable_graph();
  const GraphIndex index(*graph);
  onnx::NodeProto* node = graph->mutable_node(conv);
  const onnx::TensorProto* weights = index.Initializer(node->input(1));
  const onnx::TensorProto* bias = node->input_size() > 2 ? index.Initializer(node->input(2)) : nullptr;
  if (weights == nullptr || (bias == nullptr && node->input_size() > 2 && !node->input(2).empty())) return;
  const std::optional<Affine> affine = ReadNormalization(*file, index, graph->node(normalization));
  if (!affine) return;

  std::vector<float> values = file->Floats(*weights);
  const size_t per_channel = values.size() / affine->factor.size();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= affine->factor[i / per_channel];
  std::vector<float> offsets = affine->offset;
  if (bias != nullptr) {
    const std::vector<float> old = file->Floats(*bias);
    for (size_t c = 0; c < offsets.size(); ++c) offsets[c] += old[c] * affine->factor[c];
  }
  // Convolutions may share weights but be followed by different normalizations, so each gets weights of its own.
  std::string name = weights->name() + "_folded";
  if (index.Initializer(name) != nullptr) name += "_" + std::to_string(conv);
  const std::vector<int64_t> dims(weights->dims().begin(), weights->dims().end());
  node->set_input(1, AddFloats(graph, name, dims, values)->name());
  if (node->input_size() < 3) node->add_input();
  node->set_input(2, AddFloats(graph, name + "_bias", {static_cast<int64_t>(offsets.size())}, offsets)->name());
  node->set_output(0, graph->node(normalization).output(0));
}

void FoldBatchNormalization(ModelFile* file) {
  onnx::GraphProto* graph = file->model.mutable_graph();
  Doomed doomed;
  std::vector<std::pair<int, int>> pairs;
  {
    const GraphIndex index(*graph);
    for (int n = 0; n < graph->node_size(); ++n) {
      const onnx::NodeProto& node = graph->node(n);
      if (node.op_type() != "BatchNormalization" || node.output_size() != 1) continue;
      const int conv = index.Producer(node.input(0));
      if (conv < 0 || graph->node(conv).op_type() != "Conv" || index.OnlyReader(node.input(0)) != n) continue;
      pairs.emplace_back(conv, n);
    }
  }
  for (const auto& [conv, normalization] : pairs) {
    FoldNormalization(file, conv, normalization);
    if (graph->node(conv).output(0) == graph->node(normalization).output(0)) doomed.insert(normalization);
  }
  RemoveNodes(graph, doomed);
  RemoveUnusedInitializers(graph);
}

// --- Div

void MakeDivisionsProducts(ModelFile* file) {
  onnx::GraphProto* graph = file->model.mutable_graph();
  const GraphIndex index(*graph);
  std::vector<std::pair<std::string, float>> reciprocals;
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    if (node.op_type() != "Div") continue;
    const onnx::TensorProto* divisor = index.Initializer(node.input(1));
    if (divisor == nullptr || !IsOneFloat(*divisor) || index.Initializer(node.input(0)) != nullptr) continue;
    const float reciprocal = 1 / file->Floats(*divisor)[0];
    if (!std::isfinite(reciprocal)) continue;
    node.set_op_type("Mul");
    node.set_input(1, node.output(0) + "_factor");
    reciprocals.emplace_back(node.input(1), reciprocal);
  }
  for (const auto& [name, value] : reciprocals) AddFloats(graph, name, {}, {value});
}

// --- LayerNormalization

class LayerNormalizationFuser {
 public:
  explicit LayerNormalizationFuser(ModelFile* file)
      : file_(*file), graph_(*file->model.mutable_graph()), index_(graph_) {}

  void Fuse() {
    for (int n = 0; n < graph_.node_size(); ++n) TryFrom(n);
    std::vector<std::pair<int, onnx::NodeProto>> fused = std::move(fused_);
    for (auto& [n, node] : fused) *graph_.mutable_node(n) = std::move(node);
    RemoveNodes(&graph_, doomed_);
    RemoveUnusedInitializers(&graph_);
    if (!fused.empty()) file_.SetOpset(std::max<int64_t>(file_.Opset(), 17));
  }

 private:
  // Returns the only reader of the value if it has that type, otherwise -1.
  int Next(const std::string& value, const char* op_type) const {
    const int n = index_.OnlyReader(value);
    return n >= 0 && index_.node(n).op_type() == op_type ? n : -1;
  }
  const std::string& OutputOf(int n) const { return index_.node(n).output(0); }

  bool IsMeanOfLastAxis(const onnx::NodeProto& node) const {
    const onnx::AttributeProto* axes = FindAttribute(node, "axes");
    return node.op_type() == "ReduceMean" && axes != nullptr && axes->ints_size() == 1 && axes->ints(0) == -1 &&
           IntAttribute(node, "keepdims", 1) == 1;
  }

  // Returns the other operand of a node with two operands if it is an initializer, otherwise null.
  const onnx::TensorProto* ConstantBeside(int n, const std::string& value) const {
    const onnx::NodeProto& node = index_.node(n);
    return index_.Initializer(node.input(node.input(0) == value ? 1 : 0));
  }

  // Fuses (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias, beginning with the ReduceMean of x.
  void TryFrom(int mean) {
    if (!IsMeanOfLastAxis(index_.node(mean))) return;
    const std::string& x = index_.node(mean).input(0);
    const int sub = Next(OutputOf(mean), "Sub");
    if (sub < 0 || index_.node(sub).input(0) != x || index_.Readers(OutputOf(sub)).size() != 2) return;
    const std::string& centred = OutputOf(sub);
    int pow = index_.Readers(centred)[0], div = index_.Readers(centred)[1];
    if (index_.node(pow).op_type() == "Div") std::swap(pow, div);
    if (index_.node(pow).op_type() != "Pow" || index_.node(div).op_type() != "Div") return;
    const onnx::TensorProto* exponent = ConstantBeside(pow, centred);
    if (exponent == nullptr || !IsOneFloat(*exponent) || file_.Floats(*exponent)[0] != 2) return;

    const int variance = Next(OutputOf(pow), "ReduceMean");
    if (variance < 0 || !IsMeanOfLastAxis(index_.node(variance))) return;
    const int add_epsilon = Next(OutputOf(variance), "Add");
    const onnx::TensorProto* epsilon = add_epsilon < 0 ? nullptr : ConstantBeside(add_epsilon, OutputOf(variance));
    if (epsilon == nullptr || !IsOneFloat(*epsilon)) return;
    const int root = Next(OutputOf(add_epsilon), "Sqrt");
    if (root < 0 || index_.node(div).input(0) != centred || index_.node(div).input(1) != OutputOf(root)) return;

    const int scale = Next(OutputOf(div), "Mul");
    const int shift = scale < 0 ? -1 : Next(OutputOf(scale), "Add");
    if (shift < 0) return;
    const onnx::TensorProto* weight = ConstantBeside(scale, OutputOf(div));
    const onnx::TensorProto* bias = ConstantBeside(shift, OutputOf(scale));
    if (weight == nullptr || bias == nullptr || weight->dims_size() != 1 || bias->dims_size() != 1) return;

    onnx::NodeProto node;
    node.set_op_type("LayerNormalization");
    const std::string& name = index_.node(shift).name();
    node.set_name(name.substr(0, name.rfind('/') + 1) + "LayerNormalization_" + std::to_string(shift));
    for (const std::string& input : {x, weight->name(), bias->name()}) node.add_input(input);
    node.add_output(OutputOf(shift));
    onnx::AttributeProto* axis = node.add_attribute();
    axis->set_name("axis");
    axis->set_type(onnx::AttributeProto::INT);
    axis->set_i(-1);
    onnx::AttributeProto* small = node.add_attribute();
    small->set_name("epsilon");
    small->set_type(onnx::AttributeProto::FLOAT);
    small->set_f(file_.Floats(*epsilon)[0]);
    fused_.emplace_back(shift, std::move(node));
    doomed_.insert({mean, sub, pow, variance, add_epsilon, root, div, scale});
  }

  ModelFile& file_;
  onnx::GraphProto& graph_;
  const GraphIndex index_;
  std::vector<std::pair<int, onnx::NodeProto>> fused_;
  Doomed doomed_;
};

// Between opset 13 and 17, RoiAlign is the only operator that changed its result for the same attributes.
bool MayBecomeOpset17(const ModelFile& file) {
  const auto& nodes = file.model.graph().node();
  return file.Opset() >= 17 || (file.Opset() >= 13 && std::none_of(nodes.begin(), nodes.end(), [](const auto& node) {
                                  return node.op_type() == "RoiAlign";
                                }));
}

}  // namespace

void PrepareForQuantization(ModelFile* file) {
  MakeConstantsInitializers(file->model.mutable_graph());
  FoldBatchNormalization(file);
  MakeDivisionsProducts(file);
  if (MayBecomeOpset17(*file)) LayerNormalizationFuser(file).Fuse();
  // The recorded types and shapes of values may be wrong after the rewrites.
  file->model.mutable_graph()->clear_value_info();
}

}  // namespace epiphyte::test
