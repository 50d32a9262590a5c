// Common subexpressions: nodes with the same operator, attributes and inputs are computed once.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "core/transform/edit.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

constexpr std::array<std::string_view, 7> kRandom = {
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"};

// A DequantizeLinear belongs to the operator that reads it. Providers for integer hardware claim both as one unit, but
// only if the dequantized value has no other reader. Merging two equal ones would give the value two readers, and
// neither unit would be found. Equal QuantizeLinear nodes do merge: an output that is quantized once forms a unit, one
// that is quantized twice doesn't.
bool IsPartOfItsConsumer(const Node& node) { return node.Is("DequantizeLinear"); }

bool CanMerge(const Node& node) {
  if (IsPartOfItsConsumer(node)) return false;
  if (!node.domain().empty() && node.domain() != "ai.onnx.ml") return false;
  if (!node.subgraphs().empty()) return false;
  return std::find(kRandom.begin(), kRandom.end(), node.op_type()) == kRandom.end();
}

size_t HashOf(const Node& node) {
  size_t hash = std::hash<std::string_view>()(node.op_type());
  const auto mix = [&hash](size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); };
  for (const ValueDef* input : node.inputs()) mix(input == nullptr ? 0 : input->id() + size_t{1});
  for (const std::unique_ptr<Attribute>& attribute : node.attributes()) {
    mix(std::hash<std::string_view>()(attribute->name()));
    for (const int64_t value : attribute->ints()) mix(static_cast<size_t>(value));
    for (const std::string& value : attribute->strings()) mix(std::hash<std::string_view>()(value));
  }
  return hash;
}

// Bitwise, so that NaN equals itself and 0 differs from -0.
bool SameFloats(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool SameAttribute(const Attribute& a, const Attribute& b) {
  return a.name() == b.name() && a.type() == b.type() && SameFloats(a.floats(), b.floats()) && a.ints() == b.ints() &&
         a.strings() == b.strings() && a.tensors() == b.tensors() && a.types() == b.types();
}

bool SameExpression(const Node& a, const Node& b) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || a.since_version() != b.since_version()) return false;
  if (a.inputs() != b.inputs() || a.outputs().size() != b.outputs().size()) return false;
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    if ((a.outputs()[i] == nullptr) != (b.outputs()[i] == nullptr)) return false;
  }
  return std::equal(a.attributes().begin(), a.attributes().end(), b.attributes().begin(), b.attributes().end(),
                    [](const auto& left, const auto& right) { return SameAttribute(*left, *right); });
}

class MergeCommonSubexpressions final : public Transform {
 public:
  std::string_view name() const override { return "MergeCommonSubexpressions"; }
  TransformLevel level() const override { return TransformLevel::kBasic; }
  bool tells_history() const override { return true; }

  bool Apply(Graph& graph, const TransformContext& context) override {
    std::unordered_map<size_t, std::vector<Node*>> seen;
    seen.reserve(graph.node_count());
    bool changed = false;
    for (Node* node : graph.TopologicalOrder()) {
      if (!CanMerge(*node)) continue;
      std::vector<Node*>& same_hash = seen[HashOf(*node)];
      const auto twin = std::find_if(same_hash.begin(), same_hash.end(),
                                     [&](const Node* other) { return SameExpression(*other, *node); });
      if (twin == same_hash.end()) {
        // More than 32 different nodes with one hash indicate an attack, not a model.
        if (same_hash.size() < 32) same_hash.push_back(node);
        continue;
      }
      changed |= Merge(graph, **twin, *node, context);
    }
    return changed;
  }

 private:
  // A graph output must keep its name, so its node stays.
  static bool Merge(Graph& graph, const Node& kept, Node& removed, const TransformContext& context) {
    const std::vector<ValueDef*> outputs = removed.outputs();
    for (const ValueDef* output : outputs) {
      if (output != nullptr && output->IsOutput()) return false;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != nullptr) graph.ReplaceAllUses(outputs[i], kept.outputs()[i]);
    }
    if (context.history != nullptr) context.history->Removed(removed, RemovalReason::kMerged, ReportedName(kept));
    graph.RemoveNode(&removed);
    for (ValueDef* output : outputs) {
      if (output != nullptr) graph.RemoveValue(output);
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Transform> MakeMergeCommonSubexpressions() { return std::make_unique<MergeCommonSubexpressions>(); }

}  // namespace epiphyte::core
