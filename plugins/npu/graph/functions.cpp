#include "plugins/npu/graph/functions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "epiphyte/kit/graph/elements.hpp"

namespace epiphyte::npu {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double GeluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double HardSigmoid(double x, double alpha, double beta) { return std::clamp(alpha * x + beta, 0.0, 1.0); }

struct Plain {
  std::string_view op;
  double (*function)(double x);
};
constexpr Plain kPlain[] = {
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Acos", [](double x) { return std::acos(x); }},
    {"Asin", [](double x) { return std::asin(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"HardSwish", [](double x) { return x * HardSigmoid(x, 1.0 / 6, 0.5); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Mish", [](double x) { return x * std::tanh(Softplus(x)); }},
    {"Neg", [](double x) { return -x; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Relu", [](double x) { return std::max(x, 0.0); }},
    {"Rescale", [](double x) { return x; }},
    {"Clip", [](double x) { return x; }},  // the table applies its bounds
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Sigmoid", Sigmoid},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Softplus", Softplus},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
};

Function WithAttributes(const ir::Node& node, std::string_view op) {
  const auto attribute = [&](const char* name, double fallback) {
    return node.Has(name) ? static_cast<double>(node.Float(name, 0)) : fallback;
  };
  if (op == "Gelu") return node.String("approximate", "none") == "tanh" ? GeluTanh : Gelu;
  if (op == "LeakyRelu") return [a = attribute("alpha", 0.01f)](double x) { return x < 0 ? a * x : x; };
  if (op == "Elu") return [a = attribute("alpha", 1)](double x) { return x < 0 ? a * std::expm1(x) : x; };
  if (op == "Swish") return [a = attribute("alpha", 1)](double x) { return x * Sigmoid(a * x); };
  if (op == "HardSigmoid")
    return [a = attribute("alpha", 0.2f), b = attribute("beta", 0.5)](double x) { return HardSigmoid(x, a, b); };
  if (op == "Selu")
    return [a = attribute("alpha", 1.67326319217681884765625f), g = attribute("gamma", 1.05070102214813232421875f)](
               double x) { return g * (x < 0 ? a * std::expm1(x) : x); };
  return nullptr;
}

// A function of a and b; one of them is a constant.
using Pair = double (*)(double a, double b);
Pair PairOf(std::string_view op) {
  if (op == "Add" || op == "Sum") return [](double a, double b) { return a + b; };
  if (op == "Sub") return [](double a, double b) { return a - b; };
  if (op == "Mul") return [](double a, double b) { return a * b; };
  if (op == "Div") return [](double a, double b) { return a / b; };
  if (op == "Max") return [](double a, double b) { return std::max(a, b); };
  if (op == "Min") return [](double a, double b) { return std::min(a, b); };
  if (op == "Pow") return [](double a, double b) { return std::pow(a, b); };
  if (op == "PRelu") return [](double a, double b) { return a < 0 ? a * b : a; };
  return nullptr;
}

std::optional<double> NumberOf(const ir::Editor& editor, const Operand& operand) {
  const ir::Tensor* elements = ir::ElementsOf(editor.graph(), operand.value);
  double number = 0;
  if (elements == nullptr || elements->Count() != 1 || !ir::NumberAt(*elements, 0, &number)) return {};
  if (!operand.quantization) return number;
  // This is computed in float, as in DequantizeLinear: 20 steps of 0.1f are 2.
  const auto steps = static_cast<float>(number - static_cast<double>(operand.quantization->ZeroPoint(0)));
  return static_cast<double>(steps * static_cast<float>(operand.quantization->Scale(0)));
}

}  // namespace

Function FunctionOf(const Lowering& to, const QuantizedOp& work, size_t* operand) {
  *operand = 0;
  if (const auto plain = std::ranges::find(kPlain, work.op, &Plain::op); plain != std::end(kPlain))
    return plain->function;
  if (Function function = WithAttributes(to.NodeOf(work), work.op)) return function;
  const Pair pair = PairOf(work.op);
  if (pair == nullptr || work.inputs.size() != 2) Refuse("the NPU's interface (nsdk.h) has no ", work.op);
  for (const size_t other : {size_t{1}, size_t{0}}) {
    const std::optional<double> number = NumberOf(to.editor(), work.inputs[other]);
    if (!number || work.inputs[1 - other].value < 0) continue;
    *operand = 1 - other;
    if (other == 1) return [pair, b = *number](double x) { return pair(x, b); };
    return [pair, a = *number](double x) { return pair(a, x); };
  }
  Refuse("the NPU's interface (nsdk.h) has ", work.op, " with one number that is a constant only");
}

}  // namespace epiphyte::npu
