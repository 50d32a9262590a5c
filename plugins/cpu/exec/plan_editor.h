// PlanEditor: who makes and who reads each value of a PlanDef while fusions rewrite it. Nodes are replaced in place, so
// execution order holds; what nobody reads any more goes away at the end.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/cpu/exec/plan_def.h"

namespace epiphyte::cpu {

class PlanEditor {
 public:
  explicit PlanEditor(PlanDef& plan);

  PlanDef& plan() { return plan_; }
  int32_t node_count() const { return static_cast<int32_t>(plan_.nodes.size()); }
  const NodeDef& node(int32_t index) const { return plan_.nodes[index]; }
  bool removed(int32_t node) const { return removed_[node]; }

  // The node that makes a value, or -1.
  int32_t Producer(int32_t value) const { return value < 0 ? -1 : producer_[value]; }
  // As Producer, if it is of that operator (of ai.onnx), else -1.
  int32_t ProducerOf(int32_t value, std::string_view op_type) const;
  bool Is(int32_t node, std::string_view op_type) const {
    return node >= 0 && !removed_[node] && plan_.nodes[node].domain.empty() && plan_.nodes[node].op_type == op_type;
  }
  // Nodes that read a value, one entry a use.
  const std::vector<int32_t>& Readers(int32_t value) const { return readers_[value]; }
  bool IsOutput(int32_t value) const { return is_output_[value]; }
  // The only reader of a value that is no output, or -1.
  int32_t OnlyReader(int32_t value) const {
    return readers_[value].size() == 1 && !is_output_[value] ? readers_[value][0] : -1;
  }

  const ValueInfo& info(int32_t value) const { return plan_.values[value]; }
  bool IsFloat(int32_t value) const { return value >= 0 && plan_.values[value].type == EP_TYPE_FLOAT; }
  // Both shapes known and equal.
  bool SameStaticShape(int32_t a, int32_t b) const;
  const Tensor* Constant(int32_t value) const;
  // The elements of a float constant. A copy: the host's bytes need not be aligned.
  std::optional<std::vector<float>> Floats(int32_t value) const;
  // The one element of a constant of numbers.
  bool Scalar(int32_t value, float* number) const;
  bool IsScalarNear(int32_t value, double number) const;

  // Puts `replacement` at the place of `node`. Values that `node` made and `replacement` doesn't must not be read.
  // Nodes that nobody needs any more are removed.
  void Replace(int32_t node, NodeDef replacement);
  // A new float constant. References to values' infos end.
  int32_t AddConstant(std::string name, std::vector<int64_t> dims, std::span<const float> data);
  // Drops from the plan what has been removed and what nobody needed to begin with: nodes, then the constants and other
  // values that no node is left to read or make. Values get new numbers; this is the last that an editor does.
  void Finish();

 private:
  void RemoveReader(int32_t value, int32_t node);
  bool IsDead(int32_t node) const;
  void RemoveDead(std::vector<int32_t> nodes);
  void DropUnusedValues();

  PlanDef& plan_;
  std::vector<int32_t> producer_;
  std::vector<std::vector<int32_t>> readers_;
  std::vector<bool> is_output_;
  std::vector<bool> removed_;
};

// Attributes for fused nodes.
AttributeValue IntAttribute(std::string name, int64_t value);
AttributeValue IntsAttribute(std::string name, std::vector<int64_t> values);
AttributeValue FloatAttribute(std::string name, float value);
AttributeValue FloatsAttribute(std::string name, std::vector<float> values);
AttributeValue StringAttribute(std::string name, std::string value);

// The passes, in the order in which they run.
void MergeReluIntoClip(PlanEditor& editor);
void FoldIntoConvolutions(PlanEditor& editor);
void FuseGemms(PlanEditor& editor);
void FuseNormalizations(PlanEditor& editor);
void FuseGelu(PlanEditor& editor);
void FuseAttention(PlanEditor& editor);
void FuseProducts(PlanEditor& editor);
void FuseConvolutions(PlanEditor& editor);
void FuseElementwise(PlanEditor& editor);

}  // namespace epiphyte::cpu
