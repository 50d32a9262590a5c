// Quantization that undoes a dequantization.
#include <cstring>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
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
          (left->byte_size() == 0 || std::memcmp(left->data(), right->data(), left->byte_size()) == 0));
}

// QuantizeLinear(DequantizeLinear(q)) is q when both have the same scale and zero point; so the second pair of
// Q-DQ-Q-DQ goes.
class RemoveRequantization final : public BasicRule {
 public:
  RemoveRequantization() : BasicRule("RemoveRequantization", {"QuantizeLinear"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    const Node* dequantize = ProducedBy(node.input(0), "DequantizeLinear");
    if (dequantize == nullptr || !SameConstant(node, *dequantize, 1) || !SameConstant(node, *dequantize, 2))
      return false;
    for (const auto& [name, fallback] : {std::pair{"axis", int64_t{1}}, {"block_size", int64_t{0}}}) {
      if (node.IntAttribute(name, fallback) != dequantize->IntAttribute(name, fallback)) return false;
    }
    const DataType type = ElementType(dequantize->input(0));
    if (type == DataType::kUndefined || type != ElementType(node.output(0))) return false;
    return BypassNode(graph, node, dequantize->input(0));
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeRemoveRequantization() { return std::make_unique<RemoveRequantization>(); }

}  // namespace epiphyte::core
