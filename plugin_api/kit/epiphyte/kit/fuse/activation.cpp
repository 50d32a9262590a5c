#include "epiphyte/kit/fuse/activation.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/fuse/elementwise.hpp"
#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/operators.hpp"

namespace epiphyte::kit::fuse {

Activation Activation::Read(const ir::Node& node) {
  if (node.domain != kDomain) return {};
  const std::string name = node.String("activation");
  if (name.empty()) return {};
  const std::optional<ElementwiseOp> op = ElementwiseOpOf(name);
  if (!op || IsBinary(*op)) throw Error(EP_STATUS_INVALID_GRAPH, "unknown activation '" + name + "'");
  return {*op, node.Float("activation_alpha", 0), node.Float("activation_beta", 0)};
}

void Activation::AddTo(ir::Node& node) const {
  node.attributes.push_back(ir::Attribute::String("activation", std::string(NameOf(op))));
  node.attributes.push_back(ir::Attribute::Float("activation_alpha", alpha));
  node.attributes.push_back(ir::Attribute::Float("activation_beta", beta));
}

void DropActivation(ir::Node& node) {
  std::erase_if(node.attributes, [](const ir::Attribute& attribute) {
    return attribute.name == "activation" || attribute.name == "activation_alpha" ||
           attribute.name == "activation_beta";
  });
}

namespace {

// The Mul of x and sigmoid(x), if x has no other readers; else -1.
int32_t SwishBehind(const ir::Editor& editor, int32_t value) {
  const std::vector<int32_t>& readers = editor.Readers(value);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t sigmoid = readers[i];
    const int32_t mul = readers[1 - i];
    if (!IsNode(editor, sigmoid, "Sigmoid") || !IsArithmetic(editor, mul, "Mul")) continue;
    const int32_t gate = editor.node(sigmoid).outputs[0];
    if (gate != value && editor.OnlyReader(gate) == mul && Other(editor.node(mul), gate) == value) return mul;
  }
  return -1;
}

}  // namespace

FoundActivation FindActivation(const ir::Editor& editor, int32_t value, const TakesActivation& takes) {
  if (value < 0 || editor.IsOutput(value) || !IsFloatType(editor.info(value).type)) return {};
  const std::vector<int32_t>& readers = editor.Readers(value);
  FoundActivation found;
  if (readers.size() == 2) {
    found = {SwishBehind(editor, value), {ElementwiseOp::kSwish}};
  } else if (readers.size() == 1) {
    const std::optional<ElementwiseStep> step = ElementwiseStepOf(editor, readers[0]);
    if (!step || IsBinary(step->op) || step->operands[0] != value) return {};
    if (step->op == ElementwiseOp::kClip && !(step->p0 <= step->p1)) return {};
    found = {readers[0], {step->op, step->p0, step->p1}};
  }
  return found && (!takes || takes(found.activation)) ? found : FoundActivation();
}

namespace {

// Merges a Relu into the bounds of the Clip that reads it. False when a bound is not known.
bool RaiseMinimum(ir::Editor& editor, ir::Node& clip) {
  if (clip.since_version < 11) {
    if (clip.Float("max", 0.0f) < 0.0f) return false;
    const float minimum = clip.Float("min", -1.0f);
    if (std::isnan(minimum)) return false;
    if (minimum >= 0.0f) return true;
    std::erase_if(clip.attributes, [](const ir::Attribute& attribute) { return attribute.name == "min"; });
    clip.attributes.push_back(ir::Attribute::Float("min", 0.0f));
    return true;
  }
  float minimum = -1.0f;
  float maximum = 0.0f;
  // If max is below min, the result depends on the order of the bounds, so such a Clip stays.
  if (clip.HasInput(2) && (!editor.Scalar(clip.inputs[2], &maximum) || maximum < 0.0f)) return false;
  if (clip.HasInput(1) && !editor.Scalar(clip.inputs[1], &minimum)) return false;
  if (std::isnan(minimum)) return false;
  if (minimum >= 0.0f) return true;
  constexpr float kZero = 0.0f;
  clip.inputs.resize(std::max<size_t>(clip.inputs.size(), 2), -1);
  clip.inputs[1] = editor.AddConstant(clip.name + "_min", {}, {&kZero, 1});
  return true;
}

}  // namespace

void MergeReluIntoClip(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!IsNode(editor, n, "Clip")) continue;
    ir::Node clip = editor.node(n);
    const int32_t relu = Maker(editor, clip.inputs[0], "Relu");
    if (relu < 0 || editor.OnlyReader(clip.inputs[0]) != n || !editor.IsFloat(editor.node(relu).inputs[0])) continue;
    if (!RaiseMinimum(editor, clip)) continue;
    clip.inputs[0] = editor.node(relu).inputs[0];
    editor.Replace(n, std::move(clip));
  }
}

namespace {

bool IsNear(double found, double expected) { return std::fabs(found - expected) <= 1e-3 * std::fabs(expected); }

// Replaces node `n` by an operator with the single input `x`.
void ReplaceByUnary(ir::Editor& editor, int32_t n, int32_t x, std::string_view op_type, int64_t version,
                    std::vector<ir::Attribute> attributes = {}) {
  ir::Node node;
  node.op_type = op_type;
  node.since_version = version;
  node.name = editor.node(n).name;
  node.inputs = {x};
  node.outputs = {editor.node(n).outputs[0]};
  node.attributes = std::move(attributes);
  editor.Replace(n, std::move(node));
}

// Recognises `gate` as a hard sigmoid of x times a factor and returns the factor: 6 for clip(x + 3, 0, 6), 1 for
// HardSigmoid and for a quotient by 6. 0: `gate` is something else.
double HardGate(const ir::Editor& editor, int32_t gate, int32_t x, int steps = 1) {
  if (const int32_t hard = Maker(editor, gate, "HardSigmoid"); hard >= 0) {
    const ir::Node& node = editor.node(hard);
    const bool is_it =
        node.inputs[0] == x && IsNear(node.Float("alpha", 0.2f), 1.0 / 6) && IsNear(node.Float("beta", 0.5f), 0.5);
    return is_it ? 1 : 0;
  }
  float number = 0;
  if (const int32_t div = ArithmeticMaker(editor, gate, "Div"); div >= 0 && steps > 0) {
    if (!editor.Scalar(editor.node(div).inputs[1], &number) || number == 0) return 0;
    return HardGate(editor, editor.node(div).inputs[0], x, steps - 1) / number;
  }
  if (const int32_t mul = ArithmeticMaker(editor, gate, "Mul"); mul >= 0 && steps > 0) {
    const std::vector<int32_t>& factors = editor.node(mul).inputs;
    for (const size_t i : {size_t{0}, size_t{1}})
      if (editor.Scalar(factors[i], &number)) return HardGate(editor, factors[1 - i], x, steps - 1) * number;
    return 0;
  }
  const int32_t clip = editor.Producer(gate);
  const std::optional<ElementwiseStep> step = ElementwiseStepOf(editor, clip);
  if (!step || step->op != ElementwiseOp::kClip || !IsNear(step->p1, 6) || step->p0 != 0) return 0;
  return WithoutAddend(editor, step->operands[0], &number) == x && IsNear(number, 3) ? 6 : 0;
}

// Replaces node `n` by HardSwish(x) if `value` times `factor` is x times the hard sigmoid of x. Looks through at most
// `steps` divisions by, and multiplications with, a number.
bool FuseHardSwishAt(ir::Editor& editor, int32_t n, int32_t value, double factor, int steps) {
  if (const int32_t div = ArithmeticMaker(editor, value, "Div"); div >= 0 && steps > 0) {
    float number = 0;
    return editor.Scalar(editor.node(div).inputs[1], &number) && number != 0 &&
           FuseHardSwishAt(editor, n, editor.node(div).inputs[0], factor / number, steps - 1);
  }
  const int32_t mul = ArithmeticMaker(editor, value, "Mul");
  if (mul < 0) return false;
  const std::vector<int32_t> factors = editor.node(mul).inputs;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    float number = 0;
    if (steps > 0 && editor.Scalar(factors[i], &number))
      return FuseHardSwishAt(editor, n, factors[1 - i], factor * number, steps - 1);
    const int32_t x = factors[i];
    if (!IsNear(factor * HardGate(editor, factors[1 - i], x), 1)) continue;
    const int32_t y = editor.node(n).outputs[0];
    if (!IsFloatType(editor.info(x).type) || editor.info(x).rank != editor.info(y).rank) continue;
    ReplaceByUnary(editor, n, x, "HardSwish", 14);
    return true;
  }
  return false;
}

}  // namespace

void FuseHardSwish(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n)
    if (IsArithmetic(editor, n, "Mul") || IsArithmetic(editor, n, "Div"))
      FuseHardSwishAt(editor, n, editor.node(n).outputs[0], 1, 1);
}

void FuseSwish(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!IsArithmetic(editor, n, "Mul")) continue;
    const std::vector<int32_t> factors = editor.node(n).inputs;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t x = factors[1 - i];
      const int32_t sigmoid = Maker(editor, factors[i], "Sigmoid");
      if (sigmoid < 0 || !IsFloatType(editor.info(x).type)) continue;
      float alpha = 1;
      int32_t argument = editor.node(sigmoid).inputs[0];
      if (argument != x) {
        const int32_t mul = ArithmeticMaker(editor, argument, "Mul");
        if (mul < 0 || !editor.Scalar(Other(editor.node(mul), x), &alpha)) continue;
        argument = Other(editor.node(mul), Other(editor.node(mul), x));
        if (argument != x || editor.info(editor.node(mul).outputs[0]).rank != editor.info(x).rank) continue;
      }
      std::vector<ir::Attribute> attributes;
      if (alpha != 1) attributes.push_back(ir::Attribute::Float("alpha", alpha));
      ReplaceByUnary(editor, n, x, "Swish", 24, std::move(attributes));
      break;
    }
  }
}

void FuseMish(ir::Editor& editor) {
  const auto base_of_softplus = [&](int32_t value) {
    if (const int32_t softplus = Maker(editor, value, "Softplus"); softplus >= 0)
      return editor.node(softplus).inputs[0];
    float one = 0;
    const int32_t log = Maker(editor, value, "Log");
    const int32_t power = log < 0 ? -1 : WithoutAddend(editor, editor.node(log).inputs[0], &one);
    const int32_t exp = power < 0 || one != 1 ? -1 : Maker(editor, power, "Exp");
    return exp < 0 ? -1 : editor.node(exp).inputs[0];
  };
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!IsArithmetic(editor, n, "Mul")) continue;
    const std::vector<int32_t> factors = editor.node(n).inputs;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t x = factors[1 - i];
      const int32_t tanh = Maker(editor, factors[i], "Tanh");
      if (tanh < 0 || !IsFloatType(editor.info(x).type) || base_of_softplus(editor.node(tanh).inputs[0]) != x) continue;
      ReplaceByUnary(editor, n, x, "Mish", 18);
      break;
    }
  }
}

}  // namespace epiphyte::kit::fuse
