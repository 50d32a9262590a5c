// Recognises normalisations and Gelu that exporters wrote out as arithmetic.
#include <cmath>
#include <numbers>

#include "plugins/cpu/plan/plan_editor.h"

namespace epiphyte::cpu {
namespace {

// The other operand of a commutative node with two inputs.
int32_t Other(const NodeDef& node, int32_t value) { return node.inputs[0] == value ? node.inputs[1] : node.inputs[0]; }

// value = base², as Pow(base, 2) or Mul(base, base): base, or -1.
int32_t SquareRootOf(const PlanEditor& editor, int32_t value) {
  if (const int32_t pow = editor.ProducerOf(value, "Pow"); pow >= 0)
    return editor.IsScalarNear(editor.node(pow).inputs[1], 2.0) ? editor.node(pow).inputs[0] : -1;
  if (const int32_t mul = editor.ProducerOf(value, "Mul"); mul >= 0)
    return editor.node(mul).inputs[0] == editor.node(mul).inputs[1] ? editor.node(mul).inputs[0] : -1;
  return -1;
}

// value = mean of `of` over the last axis, kept: `of`, or -1.
int32_t LastAxisMeanOf(const PlanEditor& editor, int32_t value) {
  const int32_t mean = editor.ProducerOf(value, "ReduceMean");
  if (mean < 0) return -1;
  const NodeDef& node = editor.node(mean);
  if (node.Int("keepdims", 1) != 1) return -1;
  std::vector<int64_t> axes = node.Ints("axes");
  if (node.inputs.size() > 1 && node.inputs[1] >= 0) {
    const Tensor* constant = editor.Constant(node.inputs[1]);
    if (constant == nullptr || constant->type != EP_TYPE_INT64 || constant->data == nullptr) return -1;
    axes.assign(constant->as<int64_t>(), constant->as<int64_t>() + constant->Count());
  }
  const int64_t rank = editor.info(node.inputs[0]).rank;
  if (axes.size() != 1 || (axes[0] != -1 && (rank < 1 || axes[0] != rank - 1))) return -1;
  return node.inputs[0];
}

// value = sqrt(mean(square) + epsilon): the value under the square, or -1.
int32_t DeviationOf(const PlanEditor& editor, int32_t value, float* epsilon) {
  const int32_t root = editor.ProducerOf(value, "Sqrt");
  if (root < 0) return -1;
  const int32_t add = editor.ProducerOf(editor.node(root).inputs[0], "Add");
  if (add < 0) return -1;
  for (int32_t input : editor.node(add).inputs) {
    if (!editor.Scalar(Other(editor.node(add), input), epsilon)) continue;
    const int32_t square = LastAxisMeanOf(editor, input);
    if (square >= 0) return SquareRootOf(editor, square);
  }
  return -1;
}

// value = x / deviation(x), in either spelling: x, or -1.
int32_t NormalOf(const PlanEditor& editor, int32_t value, float* epsilon) {
  if (const int32_t div = editor.ProducerOf(value, "Div"); div >= 0) {
    const int32_t x = editor.node(div).inputs[0];
    return DeviationOf(editor, editor.node(div).inputs[1], epsilon) == x ? x : -1;
  }
  if (const int32_t mul = editor.ProducerOf(value, "Mul"); mul >= 0) {
    for (int32_t input : editor.node(mul).inputs) {
      const int32_t reciprocal = editor.ProducerOf(input, "Reciprocal");
      const int32_t x = Other(editor.node(mul), input);
      if (reciprocal >= 0 && DeviationOf(editor, editor.node(reciprocal).inputs[0], epsilon) == x) return x;
    }
  }
  return -1;
}

// A float vector as long as the last dimension of `x`.
bool IsScale(const PlanEditor& editor, int32_t value, int32_t x) {
  const ValueInfo& scale = editor.info(value);
  const ValueInfo& data = editor.info(x);
  return editor.IsFloat(value) && scale.rank == 1 && data.rank >= 1 && data.dims.back() > 0 &&
         scale.dims[0] == data.dims.back();
}

NodeDef MakeNormalization(const PlanEditor& editor, int32_t last, std::vector<int32_t> inputs, float epsilon,
                          bool rms) {
  NodeDef node;
  node.op_type = "Normalization";
  node.domain = kFusedDomain;
  node.name = editor.node(last).name;
  node.inputs = std::move(inputs);
  node.outputs = {editor.node(last).outputs[0]};
  node.attributes.push_back(FloatAttribute("epsilon", epsilon));
  node.attributes.push_back(IntAttribute("rms", rms ? 1 : 0));
  return node;
}

// Mul(scale, normal) at `mul`: what is normalised, or -1.
int32_t ScaledNormal(const PlanEditor& editor, int32_t mul, int32_t* scale, float* epsilon) {
  for (int32_t input : editor.node(mul).inputs) {
    const int32_t normal = NormalOf(editor, input, epsilon);
    *scale = Other(editor.node(mul), input);
    if (normal >= 0 && editor.IsFloat(normal) && IsScale(editor, *scale, normal)) return normal;
  }
  return -1;
}

// normal = x - mean(x): x, or -1.
int32_t CentredOf(const PlanEditor& editor, int32_t value) {
  const int32_t sub = editor.ProducerOf(value, "Sub");
  if (sub < 0) return -1;
  const int32_t x = editor.node(sub).inputs[0];
  return LastAxisMeanOf(editor, editor.node(sub).inputs[1]) == x ? x : -1;
}

// A product of values and a constant factor.
struct Factors {
  std::vector<int32_t> values;
  double scale = 1;
};

void Expand(const PlanEditor& editor, int32_t value, int depth, Factors& factors) {
  float number = 0;
  if (editor.Scalar(value, &number)) {
    factors.scale *= number;
    return;
  }
  if (depth < 4) {
    if (const int32_t mul = editor.ProducerOf(value, "Mul"); mul >= 0) {
      Expand(editor, editor.node(mul).inputs[0], depth + 1, factors);
      Expand(editor, editor.node(mul).inputs[1], depth + 1, factors);
      return;
    }
    if (const int32_t div = editor.ProducerOf(value, "Div");
        div >= 0 && editor.Scalar(editor.node(div).inputs[1], &number) && number != 0) {
      factors.scale /= number;
      Expand(editor, editor.node(div).inputs[0], depth + 1, factors);
      return;
    }
    if (const int32_t pow = editor.ProducerOf(value, "Pow"); pow >= 0) {
      for (int power = 2; power <= 3; ++power) {
        if (!editor.IsScalarNear(editor.node(pow).inputs[1], power)) continue;
        for (int i = 0; i < power; ++i) factors.values.push_back(editor.node(pow).inputs[0]);
        return;
      }
    }
  }
  factors.values.push_back(value);
}

bool IsPowerOf(const Factors& factors, int32_t x, size_t power, double scale) {
  if (factors.values.size() != power || std::fabs(factors.scale - scale) > 1e-4 * scale) return false;
  for (int32_t value : factors.values)
    if (value != x) return false;
  return true;
}

// value = 1 + other: other, or -1.
int32_t OneLess(const PlanEditor& editor, int32_t value) {
  const int32_t add = editor.ProducerOf(value, "Add");
  if (add < 0) return -1;
  for (int32_t input : editor.node(add).inputs)
    if (editor.IsScalarNear(input, 1.0)) return Other(editor.node(add), input);
  return -1;
}

// x + 0.044715 x³
bool IsCubic(const PlanEditor& editor, int32_t value, int32_t x) {
  const int32_t add = editor.ProducerOf(value, "Add");
  if (add < 0) return false;
  const NodeDef& node = editor.node(add);
  if (node.inputs[0] != x && node.inputs[1] != x) return false;
  Factors cube;
  Expand(editor, Other(node, x), 0, cube);
  return IsPowerOf(cube, x, 3, 0.044715);
}

// The form of Gelu that `gate` (without its 1) makes of x: "none", "tanh" or null.
const char* GeluForm(const PlanEditor& editor, int32_t gate, int32_t x) {
  if (const int32_t erf = editor.ProducerOf(gate, "Erf"); erf >= 0) {
    Factors argument;
    Expand(editor, editor.node(erf).inputs[0], 0, argument);
    return IsPowerOf(argument, x, 1, std::numbers::sqrt2 / 2) ? "none" : nullptr;
  }
  if (const int32_t tanh = editor.ProducerOf(gate, "Tanh"); tanh >= 0) {
    Factors argument;
    Expand(editor, editor.node(tanh).inputs[0], 0, argument);
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    if (argument.values.size() != 1 || std::fabs(argument.scale - scale) > 1e-4) return nullptr;
    return IsCubic(editor, argument.values[0], x) ? "tanh" : nullptr;
  }
  return nullptr;
}

}  // namespace

void FuseNormalizations(PlanEditor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (editor.removed(n)) continue;
    float epsilon = 0;
    int32_t scale = -1;
    if (editor.Is(n, "Add")) {
      for (int32_t input : editor.node(n).inputs) {
        const int32_t mul = editor.ProducerOf(input, "Mul");
        const int32_t bias = Other(editor.node(n), input);
        if (mul < 0) continue;
        const int32_t centred = ScaledNormal(editor, mul, &scale, &epsilon);
        const int32_t x = centred < 0 ? -1 : CentredOf(editor, centred);
        if (x < 0 || !IsScale(editor, bias, x)) continue;
        editor.Replace(n, MakeNormalization(editor, n, {x, scale, bias}, epsilon, false));
        break;
      }
    } else if (editor.Is(n, "Mul")) {
      const int32_t x = ScaledNormal(editor, n, &scale, &epsilon);
      // With a mean taken off it is a layer normalisation, whose bias comes later if it has one.
      if (x >= 0 && CentredOf(editor, x) < 0)
        editor.Replace(n, MakeNormalization(editor, n, {x, scale}, epsilon, true));
    } else if (editor.Is(n, "LayerNormalization")) {
      const NodeDef& node = editor.node(n);
      const int64_t axis = node.Int("axis", -1);
      const int32_t x = node.inputs[0];
      const bool extra =
          (node.outputs.size() > 1 && node.outputs[1] >= 0) || (node.outputs.size() > 2 && node.outputs[2] >= 0);
      const bool last = axis == -1 || (editor.info(x).rank > 0 && axis == editor.info(x).rank - 1);
      if (extra || !last || !editor.IsFloat(x) || node.inputs.size() < 2 || !IsScale(editor, node.inputs[1], x) ||
          (node.inputs.size() > 2 && node.inputs[2] >= 0 && !IsScale(editor, node.inputs[2], x)))
        continue;
      editor.Replace(n, MakeNormalization(editor, n, node.inputs, node.Float("epsilon", 1e-5f), false));
    }
  }
}

void FuseGelu(PlanEditor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!editor.Is(n, "Mul") && !editor.Is(n, "Div")) continue;
    const int32_t output = editor.node(n).outputs[0];
    if (!editor.IsFloat(output)) continue;
    Factors factors;
    Expand(editor, output, 0, factors);
    if (factors.values.size() != 2 || std::fabs(factors.scale - 0.5) > 1e-5) continue;
    for (size_t i = 0; i < 2; ++i) {
      const int32_t x = factors.values[i];
      const char* form = GeluForm(editor, OneLess(editor, factors.values[1 - i]), x);
      if (form == nullptr || editor.info(x).rank != editor.info(output).rank) continue;
      NodeDef gelu;
      gelu.op_type = "Gelu";
      gelu.since_version = 20;
      gelu.name = editor.node(n).name;
      gelu.inputs = {x};
      gelu.outputs = {output};
      gelu.attributes.push_back(StringAttribute("approximate", form));
      editor.Replace(n, std::move(gelu));
      break;
    }
  }
}

}  // namespace epiphyte::cpu
