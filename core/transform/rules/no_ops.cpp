// Removes nodes with an output that equals an input.
#include <algorithm>
#include <numeric>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/quantization.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

bool AllAre(const std::optional<std::vector<int64_t>>& values, int64_t expected) {
  return values && std::all_of(values->begin(), values->end(), [=](int64_t value) { return value == expected; });
}

// Providers for integer hardware claim an operator with the nodes that dequantize its input and quantize its output.
// Removing the operator would leave these two behind, unless they undo each other.
bool IsMiddleOfQuantizedUnit(const Node& node) {
  const Node* dequantize = ProducedBy(node.input(0), "DequantizeLinear");
  const ValueDef* output = node.output(0);
  if (dequantize == nullptr || output == nullptr || output->consumers().size() != 1 || output->IsOutput()) return false;
  const Node& quantize = *output->consumers()[0];
  return quantize.Is("QuantizeLinear") && quantize.input(0) == output && !Undoes(quantize, *dequantize);
}

bool Bypass(Graph& graph, Node& node, ValueDef* source, const TransformContext& context) {
  return !IsMiddleOfQuantizedUnit(node) && BypassNode(graph, node, source, context);
}

// Removes Identity, and variadic operators with one input.
class RemoveIdentity final : public BasicRule {
 public:
  RemoveIdentity() : BasicRule("RemoveIdentity", {"Identity", "Concat", "Sum", "Max", "Min", "Mean"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    return node.inputs().size() == 1 && Bypass(graph, node, node.input(0), context);
  }
};

// Removes Dropout, which forwards its input outside of training.
class RemoveDropout final : public BasicRule {
 public:
  RemoveDropout() : BasicRule("RemoveDropout", {"Dropout"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    if (node.input(2) != nullptr && UniformValue(ConstantInput(node, 2)) != 0.0) return false;
    return Bypass(graph, node, node.input(0), context);
  }
};

class RemoveNoOpCast final : public BasicRule {
 public:
  RemoveNoOpCast() : BasicRule("RemoveNoOpCast", {"Cast", "CastLike"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const DataType from = ElementType(node.input(0));
    const DataType to =
        node.Is("Cast") ? static_cast<DataType>(node.IntAttribute("to", 0)) : ElementType(node.input(1));
    return from != DataType::kUndefined && from == to && Bypass(graph, node, node.input(0), context);
  }
};

// Removes operators that keep the elements and their order when the shape stays the same too.
class RemoveNoOpShapeChange final : public BasicRule {
 public:
  RemoveNoOpShapeChange()
      : BasicRule("RemoveNoOpShapeChange", {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    return SameStaticShape(node.input(0), node.output(0)) && Bypass(graph, node, node.input(0), context);
  }
};

// Removes Transpose, Slice and Pad when their parameters leave every element in its place.
class RemoveNoOpMovement final : public BasicRule {
 public:
  RemoveNoOpMovement() : BasicRule("RemoveNoOpMovement", {"Transpose", "Slice", "Pad"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const bool stays = node.Is("Transpose") ? IsIdentityTranspose(node)
                       : node.Is("Slice")   ? IsWholeSlice(node)
                                            : IsEmptyPad(node);
    return stays && Bypass(graph, node, node.input(0), context);
  }

 private:
  static bool IsIdentityTranspose(const Node& node) {
    const Attribute* perm = node.FindAttribute("perm");
    if (perm == nullptr) return Rank(node.input(0)) <= size_t{1} && Rank(node.input(0)).has_value();
    std::vector<int64_t> identity(perm->ints().size());
    std::iota(identity.begin(), identity.end(), 0);
    return perm->ints() == identity;
  }

  // True when the Slice keeps all elements in order: the shape is unchanged and the steps are positive.
  static bool IsWholeSlice(const Node& node) {
    if (!SameStaticShape(node.input(0), node.output(0))) return false;
    if (node.input(4) == nullptr) return true;
    const auto steps = Integers(ConstantInput(node, 4));
    return steps && std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step > 0; });
  }

  static bool IsEmptyPad(const Node& node) {
    for (const std::string_view name : {"pads", "paddings"}) {
      if (const Attribute* pads = node.FindAttribute(name)) return AllAre(pads->ints(), 0);
    }
    return node.input(1) != nullptr && AllAre(Integers(ConstantInput(node, 1)), 0);
  }
};

// Removes x + 0, x - 0, x * 1 and x / 1 on floating point, where the constant doesn't broadcast x to a larger shape.
class RemoveNeutralArithmetic final : public BasicRule {
 public:
  RemoveNeutralArithmetic() : BasicRule("RemoveNeutralArithmetic", {"Add", "Sub", "Mul", "Div"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const double neutral = node.Is("Add") || node.Is("Sub") ? 0.0 : 1.0;
    const bool commutes = node.Is("Add") || node.Is("Mul");
    for (const size_t constant : {size_t{1}, size_t{0}}) {
      if (constant == 0 && !commutes) break;
      const ValueDef* data = node.input(1 - constant);
      if (!IsFloatingPoint(ElementType(data)) || !KeepsShape(node, constant)) continue;
      if (UniformValue(ConstantInput(node, constant)) != neutral) continue;
      if (Bypass(graph, node, node.input(1 - constant), context)) return true;
    }
    return false;
  }

 private:
  static bool KeepsShape(const Node& node, size_t index) {
    const Constant* constant = ConstantInput(node, index);
    if (constant == nullptr) return false;
    const ValueDef* data = node.input(1 - index);
    const auto rank = Rank(data);
    if (constant->element_count() == 1 && (constant->dims().empty() || (rank && constant->dims().size() <= *rank))) {
      return true;
    }
    return SameStaticShape(data, node.output(0));
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeRemoveIdentity() { return std::make_unique<RemoveIdentity>(); }
std::unique_ptr<RewriteRule> MakeRemoveDropout() { return std::make_unique<RemoveDropout>(); }
std::unique_ptr<RewriteRule> MakeRemoveNoOpCast() { return std::make_unique<RemoveNoOpCast>(); }
std::unique_ptr<RewriteRule> MakeRemoveNoOpShapeChange() { return std::make_unique<RemoveNoOpShapeChange>(); }
std::unique_ptr<RewriteRule> MakeRemoveNoOpMovement() { return std::make_unique<RemoveNoOpMovement>(); }
std::unique_ptr<RewriteRule> MakeRemoveNeutralArithmetic() { return std::make_unique<RemoveNeutralArithmetic>(); }

}  // namespace epiphyte::core
