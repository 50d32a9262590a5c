// Gelu recognition: exporters write the activation out as arithmetic, in the exact form with Erf or the approximation
// with Tanh. As one node it is cheaper, and providers find it. Needs opset 20, which has the operator.
#include <algorithm>
#include <numbers>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/product.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

constexpr int64_t kGeluVersion = 20;
constexpr double kCubeWeight = 0.044715;

bool IsPower(const Product& product, const ValueDef* x, size_t exponent) {
  return product.factors.size() == exponent && std::all_of(product.factors.begin(), product.factors.end(),
                                                           [x](const ValueDef* factor) { return factor == x; });
}

// x / sqrt(2)
bool IsErfArgument(const ValueDef* value, const ValueDef* x) {
  const Product product = ProductOf(value);
  return IsPower(product, x, 1) && product.IsScaleNear(std::numbers::sqrt2 / 2);
}

// x + 0.044715 x³
bool IsCubicSum(const ValueDef* value, const ValueDef* x) {
  const Node* add = ProducedBy(value, "Add");
  if (add == nullptr) return false;
  for (const size_t index : {size_t{0}, size_t{1}}) {
    const Product cube = ProductOf(add->input(1 - index));
    if (add->input(index) == x && IsPower(cube, x, 3) && cube.IsScaleNear(kCubeWeight)) return true;
  }
  return false;
}

// sqrt(2/π) (x + 0.044715 x³), or sqrt(2/π) x (1 + 0.044715 x²)
bool IsTanhArgument(const ValueDef* value, const ValueDef* x) {
  const Product product = ProductOf(value);
  if (!product.IsScaleNear(std::numbers::sqrt2 * std::numbers::inv_sqrtpi)) return false;
  if (product.factors.size() == 1) return IsCubicSum(product.factors[0], x);
  if (product.factors.size() != 2) return false;
  const ValueDef* other = product.factors[0] == x ? product.factors[1] : product.factors[0];
  if (product.factors[0] != x && product.factors[1] != x) return false;
  const Product square = ProductOf(OneLess(other));
  return IsPower(square, x, 2) && square.IsScaleNear(kCubeWeight);
}

class RecognizeGelu final : public BasicRule {
 public:
  RecognizeGelu() : BasicRule("RecognizeGelu", {"Mul", "Div"}, TransformLevel::kExtended) {}

  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    if (graph.Opset("") < kGeluVersion || node.output(0) == nullptr) return false;
    const Product product = ProductOf(node.output(0));
    if (product.factors.size() != 2 || !product.IsScaleNear(0.5)) return false;
    for (const size_t index : {size_t{0}, size_t{1}}) {
      ValueDef* x = const_cast<ValueDef*>(product.factors[index]);
      const ValueDef* gate = product.factors[1 - index];
      if (x == nullptr || !HasSingleUse(gate) || !IsFloatingPoint(ElementType(x))) continue;
      if (const char* approximate = FormOf(OneLess(gate), x)) {
        Replace(graph, node, x, approximate);
        return true;
      }
    }
    return false;
  }

 private:
  // Gelu's `approximate` for the function of x that `value` is; null for anything else.
  static const char* FormOf(const ValueDef* value, const ValueDef* x) {
    if (!HasSingleUse(value)) return nullptr;
    if (const Node* erf = ProducedBy(value, "Erf")) return IsErfArgument(erf->input(0), x) ? "none" : nullptr;
    if (const Node* tanh = ProducedBy(value, "Tanh")) return IsTanhArgument(tanh->input(0), x) ? "tanh" : nullptr;
    return nullptr;
  }

  static void Replace(Graph& graph, Node& node, ValueDef* x, const char* approximate) {
    ValueDef* output = node.output(0);
    std::string name = node.name();
    graph.RemoveNode(&node);
    std::vector<Attribute> attributes;
    attributes.push_back(Attribute::String("approximate", approximate));
    graph.AddNode("Gelu", "", kGeluVersion, {x}, {output}, std::move(attributes), std::move(name));
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeRecognizeGelu() { return std::make_unique<RecognizeGelu>(); }

}  // namespace epiphyte::core
