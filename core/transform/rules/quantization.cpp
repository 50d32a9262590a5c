// Removes quantization that undoes a dequantization.
#include <cstring>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/quantization.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

bool SameConstant(const Node& a, const Node& b, size_t index) {
  if (a.input(index) == nullptr || b.input(index) == nullptr) return a.input(index) == b.input(index);
  const Constant* left = ConstantInput(a, index);
  const Constant* right = ConstantInput(b, index);
  if (left == nullptr || right == nullptr || left->type() == DataType::kString) return false;
  return left == right ||
         (left->type() == right->type() && left->dims() == right->dims() && left->byte_size() == right->byte_size() &&
          (left->byte_size() == 0 || std::memcmp(left->bytes(), right->bytes(), left->byte_size()) == 0));
}

}  // namespace

bool Undoes(const Node& quantize, const Node& dequantize) {
  if (!SameConstant(quantize, dequantize, 1) || !SameConstant(quantize, dequantize, 2)) return false;
  for (const auto& [name, fallback] : {std::pair{"axis", int64_t{1}}, {"block_size", int64_t{0}}}) {
    if (quantize.IntAttribute(name, fallback) != dequantize.IntAttribute(name, fallback)) return false;
  }
  const DataType type = ElementType(dequantize.input(0));
  return type != DataType::kUndefined && type == ElementType(quantize.output(0));
}

namespace {

// QuantizeLinear(DequantizeLinear(q)) is q when both have the same scale and zero point. Therefore the second pair of
// Q-DQ-Q-DQ is removed.
class RemoveRequantization final : public BasicRule {
 public:
  RemoveRequantization() : BasicRule("RemoveRequantization", {"QuantizeLinear"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const Node* dequantize = ProducedBy(node.input(0), "DequantizeLinear");
    return dequantize != nullptr && Undoes(node, *dequantize) && BypassNode(graph, node, dequantize->input(0), context);
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeRemoveRequantization() { return std::make_unique<RemoveRequantization>(); }

}  // namespace epiphyte::core
