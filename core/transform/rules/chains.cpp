// Merges chains of similar nodes into one node.
#include <algorithm>

#include "core/base/error.h"
#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

// Values that a numeric type represents exactly: for integers the number of bits without the sign, for floating point
// the mantissa and exponent bits.
struct NumberFormat {
  bool is_float;
  bool is_signed;
  int precision;
  int exponent;
};

std::optional<NumberFormat> FormatOf(DataType type) {
  switch (type) {
    case DataType::kBool: return NumberFormat{false, false, 1, 0};
    case DataType::kUint8: return NumberFormat{false, false, 8, 0};
    case DataType::kUint16: return NumberFormat{false, false, 16, 0};
    case DataType::kUint32: return NumberFormat{false, false, 32, 0};
    case DataType::kUint64: return NumberFormat{false, false, 64, 0};
    case DataType::kInt8: return NumberFormat{false, true, 7, 0};
    case DataType::kInt16: return NumberFormat{false, true, 15, 0};
    case DataType::kInt32: return NumberFormat{false, true, 31, 0};
    case DataType::kInt64: return NumberFormat{false, true, 63, 0};
    case DataType::kFloat16: return NumberFormat{true, true, 11, 5};
    case DataType::kBfloat16: return NumberFormat{true, true, 8, 8};
    case DataType::kFloat: return NumberFormat{true, true, 24, 8};
    case DataType::kDouble: return NumberFormat{true, true, 53, 11};
    default: return std::nullopt;
  }
}

// True when every value of `from` is a value of `to`.
bool HoldsExactly(DataType to, DataType from) {
  const auto narrow = FormatOf(from);
  const auto wide = FormatOf(to);
  if (!narrow || !wide) return false;
  if (to == DataType::kBool) return from == DataType::kBool;
  if (narrow->is_float && !wide->is_float) return false;
  if (narrow->is_signed && !wide->is_signed) return false;
  return narrow->precision <= wide->precision && narrow->exponent <= (wide->is_float ? wide->exponent : 0);
}

// Cast(Cast(x: A → B) → C) becomes Cast(x → C) when B represents every value of A exactly.
class MergeCasts final : public BasicRule {
 public:
  MergeCasts() : BasicRule("MergeCasts", {"Cast"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const Node* first = ProducedBy(node.input(0), "Cast");
    if (first == nullptr || !HasOnlyAttributes(node, {"to"}) || !HasOnlyAttributes(*first, {"to"})) return false;
    const auto between = static_cast<DataType>(first->IntAttribute("to", 0));
    if (!HoldsExactly(between, ElementType(first->input(0)))) return false;
    if (!FormatOf(static_cast<DataType>(node.IntAttribute("to", 0)))) return false;
    TakeOver(graph, node, *first, context);
    return true;
  }
};

class MergeTransposes final : public BasicRule {
 public:
  MergeTransposes() : BasicRule("MergeTransposes", {"Transpose"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const Node* first = ProducedBy(node.input(0), "Transpose");
    if (first == nullptr) return false;
    const auto inner = Permutation(*first);
    const auto outer = Permutation(node);
    if (!inner || !outer || inner->size() != outer->size()) return false;
    std::vector<int64_t> merged;
    for (const int64_t axis : *outer) merged.push_back((*inner)[static_cast<size_t>(axis)]);
    TakeOver(graph, node, *first, context);
    node.SetAttribute(Attribute::Ints("perm", std::move(merged)));
    return true;
  }

 private:
  static std::optional<std::vector<int64_t>> Permutation(const Node& node) {
    std::vector<int64_t> perm;
    if (const Attribute* attribute = node.FindAttribute("perm")) {
      perm = attribute->ints();
    } else if (const auto rank = Rank(node.input(0))) {
      for (size_t axis = *rank; axis-- > 0;) perm.push_back(static_cast<int64_t>(axis));
    } else {
      return std::nullopt;
    }
    const auto size = static_cast<int64_t>(perm.size());
    if (std::any_of(perm.begin(), perm.end(), [=](int64_t axis) { return axis < 0 || axis >= size; })) {
      return std::nullopt;
    }
    return perm;
  }
};

// Merges consecutive reshapes: the result doesn't depend on the shape in between. A chain that ends in its first shape
// is removed.
class MergeReshapes final : public BasicRule {
 public:
  MergeReshapes() : BasicRule("MergeReshapes", {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const Node* first = nullptr;
    for (const std::string_view op_type : operators()) {
      if (first == nullptr) first = ProducedBy(node.input(0), op_type);
    }
    if (first == nullptr || first->input(0) == nullptr) return false;
    if (SameStaticShape(first->input(0), node.output(0)) && BypassNode(graph, node, first->input(0), context))
      return true;
    if (!node.Is("Reshape") || !NamesEveryDimension(node)) return false;
    TakeOver(graph, node, *first, context);
    return true;
  }

 private:
  // Whether the target shape states every dimension. A 0 copies the input's dimension unless allowzero is set.
  static bool NamesEveryDimension(const Node& node) {
    std::optional<std::vector<int64_t>> shape;
    if (const Attribute* attribute = node.FindAttribute("shape")) {
      shape = attribute->ints();
    } else {
      shape = Integers(ConstantInput(node, 1));
    }
    if (!shape) return false;
    return node.IntAttribute("allowzero", 0) != 0 || std::find(shape->begin(), shape->end(), 0) == shape->end();
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeMergeCasts() { return std::make_unique<MergeCasts>(); }
std::unique_ptr<RewriteRule> MakeMergeTransposes() { return std::make_unique<MergeTransposes>(); }
std::unique_ptr<RewriteRule> MakeMergeReshapes() { return std::make_unique<MergeReshapes>(); }

}  // namespace epiphyte::core
