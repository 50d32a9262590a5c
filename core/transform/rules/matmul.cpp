// MatMul and Gemm with what is added to their product.
#include <string>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

// The product as an operand of an Add that is its only use, and what is added to it.
struct Sum {
  Node* product;
  ValueDef* addend;
};

std::optional<Sum> SumWith(const Node& add, std::string_view op_type) {
  for (const size_t index : {size_t{0}, size_t{1}}) {
    Node* product = ProducedBy(add.input(index), op_type);
    ValueDef* addend = add.input(1 - index);
    if (product != nullptr && addend != nullptr && HasSingleUse(add.input(index))) return Sum{product, addend};
  }
  return std::nullopt;
}

// Gemm's C is broadcast to [rows, columns] and may not be larger.
bool FitsAsBias(const ValueDef* addend, const ValueDef* product) {
  const auto dims = StaticShape(addend);
  if (!dims || dims->size() > 2 || Rank(product) != size_t{2}) return false;
  const Shape& result = *product->type()->shape();
  for (size_t i = 0; i < dims->size(); ++i) {
    const Dim& target = result[i + 2 - dims->size()];
    if ((*dims)[i] != 1 && (!target.known() || target.value != (*dims)[i])) return false;
  }
  return true;
}

int64_t GemmVersion(int64_t opset) { return opset >= 13 ? 13 : opset >= 11 ? 11 : opset >= 9 ? 9 : opset >= 7 ? 7 : 0; }

void ReplaceSum(Graph& graph, Node& add, Node& product, std::vector<ValueDef*> inputs, int64_t version,
                std::vector<Attribute> attributes) {
  ValueDef* output = add.output(0);
  ValueDef* between = product.output(0);
  std::string name = product.name();
  graph.RemoveNode(&add);
  graph.RemoveNode(&product);
  graph.RemoveValue(between);
  graph.AddNode("Gemm", "", version, std::move(inputs), {output}, std::move(attributes), std::move(name));
}

// MatMul of matrices plus a bias is Gemm.
class FuseMatMulAdd final : public BasicRule {
 public:
  FuseMatMulAdd() : BasicRule("FuseMatMulAdd", {"Add"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    const auto sum = SumWith(node, "MatMul");
    const int64_t version = GemmVersion(graph.Opset(""));
    if (!sum || version == 0 || node.FindAttribute("axis") != nullptr) return false;
    ValueDef* a = sum->product->input(0);
    ValueDef* b = sum->product->input(1);
    const DataType type = ElementType(a);
    if (type != DataType::kFloat && type != DataType::kDouble && type != DataType::kFloat16) return false;
    if (Rank(a) != size_t{2} || Rank(b) != size_t{2} || ElementType(sum->addend) != type) return false;
    if (!FitsAsBias(sum->addend, sum->product->output(0))) return false;
    ReplaceSum(graph, node, *sum->product, {a, b, sum->addend}, version, {});
    return true;
  }
};

// A Gemm without C takes what is added to it as its C.
class FuseGemmBias final : public BasicRule {
 public:
  FuseGemmBias() : BasicRule("FuseGemmBias", {"Add"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    const auto sum = SumWith(node, "Gemm");
    if (!sum || sum->product->input(2) != nullptr || node.FindAttribute("axis") != nullptr) return false;
    const DataType type = ElementType(sum->product->input(0));
    if (type == DataType::kUndefined || ElementType(sum->addend) != type) return false;
    if (!FitsAsBias(sum->addend, sum->product->output(0))) return false;
    std::vector<Attribute> attributes;
    for (const std::unique_ptr<Attribute>& attribute : sum->product->attributes()) {
      if (attribute->name() != "beta") attributes.push_back(attribute->Clone());
    }
    ReplaceSum(graph, node, *sum->product, {sum->product->input(0), sum->product->input(1), sum->addend},
               sum->product->since_version(), std::move(attributes));
    return true;
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeFuseMatMulAdd() { return std::make_unique<FuseMatMulAdd>(); }
std::unique_ptr<RewriteRule> MakeFuseGemmBias() { return std::make_unique<FuseGemmBias>(); }

}  // namespace epiphyte::core
