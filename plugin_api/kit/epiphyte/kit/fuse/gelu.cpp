#include "epiphyte/kit/fuse/gelu.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

constexpr double kCubeWeight = 0.044715;
// Upper limits on the factors and nodes of any pattern.
constexpr size_t kMostFactors = 8;
constexpr int kMostSteps = 32;

// A product of values, with repetitions, and a constant factor.
struct Product {
  std::vector<int32_t> factors;
  double scale = 1;

  bool IsPowerOf(int32_t x, size_t power, double expected_scale) const {
    return IsScaleNear(expected_scale) && factors.size() == power &&
           std::all_of(factors.begin(), factors.end(), [=](int32_t factor) { return factor == x; });
  }
  // Exporters write these constants with at least half precision.
  bool IsScaleNear(double expected) const { return std::fabs(scale - expected) <= 5e-4 * std::fabs(expected); }
};

// Nodes that a product may include: all that lead to it, or only those without other readers.
enum class Through { kAll, kUnshared };

// The factors of `value`. `x` counts as a factor, even if it is a product; -1: any value may be taken apart.
Product ProductOf(const ir::Editor& editor, int32_t value, int32_t x, Through through = Through::kAll) {
  Product product;
  std::vector<int32_t> pending = {value};
  for (int step = 0; step < kMostSteps && !pending.empty(); ++step) {
    if (product.factors.size() + pending.size() > kMostFactors) break;
    const int32_t factor = pending.back();
    pending.pop_back();
    float number = 0;
    if (editor.Scalar(factor, &number)) {
      product.scale *= number;
      continue;
    }
    const bool is_inner =
        factor != x && (factor == value || through == Through::kAll || editor.OnlyReader(factor) >= 0);
    const int32_t mul = is_inner ? ArithmeticMaker(editor, factor, "Mul") : -1;
    const int32_t div = is_inner ? ArithmeticMaker(editor, factor, "Div") : -1;
    const int32_t pow = is_inner ? ArithmeticMaker(editor, factor, "Pow") : -1;
    if (mul >= 0) {
      pending.push_back(editor.node(mul).inputs[1]);
      pending.push_back(editor.node(mul).inputs[0]);
    } else if (div >= 0 && editor.Scalar(editor.node(div).inputs[1], &number) && number != 0) {
      product.scale /= number;
      pending.push_back(editor.node(div).inputs[0]);
    } else if (pow >= 0 && editor.Scalar(editor.node(pow).inputs[1], &number) && (number == 2 || number == 3)) {
      product.factors.insert(product.factors.end(), static_cast<size_t>(number), editor.node(pow).inputs[0]);
    } else {
      product.factors.push_back(factor);
    }
  }
  product.factors.insert(product.factors.end(), pending.begin(), pending.end());
  return product;
}

// Returns other if value = 1 + other; else -1.
int32_t OneLess(const ir::Editor& editor, int32_t value) {
  const int32_t add = ArithmeticMaker(editor, value, "Add");
  if (add < 0) return -1;
  const std::vector<int32_t>& operands = editor.node(add).inputs;
  for (const size_t index : {size_t{0}, size_t{1}})
    if (editor.IsScalarNear(operands[index], 1.0)) return operands[1 - index];
  return -1;
}

// Recognises x + 0.044715 x³.
bool IsCubicSum(const ir::Editor& editor, int32_t value, int32_t x) {
  const int32_t add = ArithmeticMaker(editor, value, "Add");
  if (add < 0) return false;
  const std::vector<int32_t>& operands = editor.node(add).inputs;
  for (const size_t index : {size_t{0}, size_t{1}})
    if (operands[index] == x && ProductOf(editor, operands[1 - index], x).IsPowerOf(x, 3, kCubeWeight)) return true;
  return false;
}

// Recognises sqrt(2/π) (x + 0.044715 x³) and sqrt(2/π) x (1 + 0.044715 x²).
bool IsTanhArgument(const ir::Editor& editor, int32_t value, int32_t x) {
  const Product product = ProductOf(editor, value, x);
  if (!product.IsScaleNear(std::numbers::sqrt2 * std::numbers::inv_sqrtpi)) return false;
  const std::vector<int32_t>& factors = product.factors;
  if (factors.size() == 1) return IsCubicSum(editor, factors[0], x);
  if (factors.size() != 2 || (factors[0] != x && factors[1] != x)) return false;
  const int32_t square = OneLess(editor, factors[0] == x ? factors[1] : factors[0]);
  return square >= 0 && ProductOf(editor, square, x).IsPowerOf(x, 2, kCubeWeight);
}

// The form of Gelu that `gate`, without its 1, computes from x: "none", "tanh" or null.
const char* GeluForm(const ir::Editor& editor, int32_t gate, int32_t x) {
  if (const int32_t erf = Maker(editor, gate, "Erf"); erf >= 0) {
    const Product argument = ProductOf(editor, editor.node(erf).inputs[0], x);
    return argument.IsPowerOf(x, 1, std::numbers::sqrt2 / 2) ? "none" : nullptr;
  }
  if (const int32_t tanh = Maker(editor, gate, "Tanh"); tanh >= 0)
    return IsTanhArgument(editor, editor.node(tanh).inputs[0], x) ? "tanh" : nullptr;
  return nullptr;
}

bool FuseGeluAt(ir::Editor& editor, int32_t n, Through through) {
  const int32_t output = editor.node(n).outputs[0];
  const EpElementType type = editor.info(output).type;
  if (!IsFloatType(type)) return false;
  const Product product = ProductOf(editor, output, -1, through);
  if (product.factors.size() != 2 || !product.IsScaleNear(0.5)) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t x = product.factors[i];
    const char* form = GeluForm(editor, OneLess(editor, product.factors[1 - i]), x);
    if (form == nullptr || editor.info(x).rank != editor.info(output).rank || editor.info(x).type != type) continue;
    ir::Node gelu;
    gelu.op_type = "Gelu";
    gelu.since_version = 20;
    gelu.name = editor.node(n).name;
    gelu.inputs = {x};
    gelu.outputs = {output};
    gelu.attributes.push_back(ir::Attribute::String("approximate", form));
    editor.Replace(n, std::move(gelu));
    return true;
  }
  return false;
}

}  // namespace

void FuseGelu(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!IsArithmetic(editor, n, "Mul") && !IsArithmetic(editor, n, "Div")) continue;
    // The value x may itself be a product. It then differs from its factors in having other readers.
    if (!FuseGeluAt(editor, n, Through::kAll)) FuseGeluAt(editor, n, Through::kUnshared);
  }
}

}  // namespace epiphyte::kit::fuse
