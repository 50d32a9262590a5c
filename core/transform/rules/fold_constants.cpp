// Constant folding: computes nodes that depend only on constants.
#include <algorithm>
#include <array>

#include "core/transform/edit.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

// Random results must differ from run to run. Quantized weights keep the form that providers look for.
constexpr std::array<std::string_view, 8> kNeverFolded = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                                          "RandomUniformLike", "Multinomial",      "Bernoulli",
                                                          "QuantizeLinear",    "DequantizeLinear"};

// The data of a Constant node; null for the sparse form.
ConstantPtr DataOf(const Node& node) {
  if (const Attribute* value = node.FindAttribute("value")) {
    return value->type() == AttributeType::kTensor ? value->t() : nullptr;
  }
  if (const Attribute* value = node.FindAttribute("value_float"); value != nullptr && !value->floats().empty()) {
    return Constant::Copy(DataType::kFloat, {}, value->floats().data(), sizeof(float));
  }
  if (const Attribute* value = node.FindAttribute("value_floats")) {
    return Constant::Copy(DataType::kFloat, {static_cast<int64_t>(value->floats().size())}, value->floats().data(),
                          value->floats().size() * sizeof(float));
  }
  if (const Attribute* value = node.FindAttribute("value_int"); value != nullptr && !value->ints().empty()) {
    return Constant::Copy(DataType::kInt64, {}, value->ints().data(), sizeof(int64_t));
  }
  if (const Attribute* value = node.FindAttribute("value_ints")) return Int64Vector(value->ints());
  if (const Attribute* value = node.FindAttribute("value_string"); value != nullptr && !value->strings().empty()) {
    return Constant::Strings({}, {value->s()});
  }
  if (const Attribute* value = node.FindAttribute("value_strings")) {
    return Constant::Strings({static_cast<int64_t>(value->strings().size())}, value->strings());
  }
  return nullptr;
}

class FoldConstants final : public Transform {
 public:
  std::string_view name() const override { return "FoldConstants"; }
  TransformLevel level() const override { return TransformLevel::kBasic; }
  bool tells_history() const override { return true; }

  bool Apply(Graph& graph, const TransformContext& context) override {
    bool changed = false;
    uint64_t done = 0;
    for (Node* node : graph.TopologicalOrder()) {
      if (Fold(graph, *node, context)) changed = true;
      if (++done % 64 == 0) ReportProgress(context.on_progress, done, graph.node_count(), name());
    }
    return changed;
  }

 private:
  static bool Fold(Graph& graph, Node& node, const TransformContext& context) {
    if (node.Is("Constant")) {
      std::vector<ConstantPtr> data;
      data.push_back(DataOf(node));
      return ReplaceByConstants(graph, node, std::move(data), context);
    }
    if (!context.evaluate || !CanFold(node, context)) return false;
    std::vector<ConstantPtr> results;
    if (!context.evaluate(node, &results) || !AreAsDeclared(node, results, context)) return false;
    return ReplaceByConstants(graph, node, std::move(results), context);
  }

  static bool CanFold(const Node& node, const TransformContext& context) {
    if (!node.domain().empty() && node.domain() != "ai.onnx.ml") return false;
    if (!node.subgraphs().empty() || node.inputs().empty()) return false;
    if (std::find(kNeverFolded.begin(), kNeverFolded.end(), node.op_type()) != kNeverFolded.end()) return false;
    for (const ValueDef* input : node.inputs()) {
      if (input != nullptr && input->ResolvedConstant() == nullptr) return false;
    }
    for (const ValueDef* output : node.outputs()) {
      if (output == nullptr) continue;
      // A graph output needs a producing node. A value that isn't a tensor can't be a constant.
      if (output->IsOutput()) return false;
      if (output->type() != nullptr && output->type()->kind() != EP_KIND_UNKNOWN && !output->type()->IsTensor())
        return false;
      const auto shape = StaticShape(output);
      if (shape && DataTypeBytes(ElementType(output), ElementCount(*shape)) > context.folded_bytes_limit) return false;
    }
    return true;
  }

  static bool AreAsDeclared(const Node& node, const std::vector<ConstantPtr>& results,
                            const TransformContext& context) {
    if (results.size() != node.outputs().size()) return false;
    for (size_t i = 0; i < results.size(); ++i) {
      const ValueDef* output = node.outputs()[i];
      if (output == nullptr) continue;
      if (results[i] == nullptr || results[i]->byte_size() > context.folded_bytes_limit) return false;
      const DataType declared = ElementType(output);
      if (declared != DataType::kUndefined && declared != results[i]->type()) return false;
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Transform> MakeFoldConstants() { return std::make_unique<FoldConstants>(); }

}  // namespace epiphyte::core
