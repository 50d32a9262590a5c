// Recognises normalisations that exporters wrote out as arithmetic: x / sqrt(mean(x²) + epsilon) * scale over the last
// axes, and the same of x - mean(x), with a bias or without.
#include <algorithm>
#include <optional>

#include "plugins/cpu/exec/plan_editor.h"

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

// The mean over the last `axes` axes of a value.
struct Mean {
  int32_t of = -1;
  int32_t axes = 0;
};

// How many axes, all the last ones, `list` names in any order; 0 when they are others.
int32_t CountLastAxes(std::vector<int64_t> list, int32_t rank) {
  if (list == std::vector<int64_t>{-1}) return 1;
  if (rank < 1 || list.size() > static_cast<size_t>(rank)) return 0;
  for (int64_t& axis : list)
    if (axis < 0) axis += rank;
  std::sort(list.begin(), list.end());
  const auto count = static_cast<int32_t>(list.size());
  for (int32_t i = 0; i < count; ++i)
    if (list[i] != rank - count + i) return 0;
  return count;
}

// The mean over the last axes, kept, that a value is; else none of anything.
Mean MeanOf(const PlanEditor& editor, int32_t value) {
  const int32_t mean = editor.ProducerOf(value, "ReduceMean");
  if (mean < 0) return {};
  const NodeDef& node = editor.node(mean);
  if (node.Int("keepdims", 1) != 1) return {};
  std::vector<int64_t> axes = node.Ints("axes");
  if (node.inputs.size() > 1 && node.inputs[1] >= 0) {
    const ir::Tensor* constant = editor.ConstantOf(node.inputs[1]);
    if (constant == nullptr || constant->type != EP_TYPE_INT64 || constant->data == nullptr) return {};
    axes.assign(constant->as<int64_t>(), constant->as<int64_t>() + constant->Count());
  }
  const int32_t count = CountLastAxes(std::move(axes), editor.info(node.inputs[0]).rank);
  return count == 0 ? Mean() : Mean{node.inputs[0], count};
}

// What is divided by its deviation: sqrt(mean over the last axes of its square + epsilon).
struct Normal {
  int32_t of = -1;
  int32_t axes = 0;
  float epsilon = 0;
};

// value = deviation of `of`.
Normal DeviationOf(const PlanEditor& editor, int32_t value) {
  const int32_t root = editor.ProducerOf(value, "Sqrt");
  const int32_t add = root < 0 ? -1 : editor.ProducerOf(editor.node(root).inputs[0], "Add");
  if (add < 0) return {};
  for (int32_t input : editor.node(add).inputs) {
    Normal normal;
    if (!editor.Scalar(Other(editor.node(add), input), &normal.epsilon)) continue;
    const Mean square = MeanOf(editor, input);
    if (square.of < 0) continue;
    normal.of = SquareRootOf(editor, square.of);
    normal.axes = square.axes;
    return normal;
  }
  return {};
}

// value = x / deviation of x, in either spelling.
Normal NormalOf(const PlanEditor& editor, int32_t value) {
  if (const int32_t div = editor.ProducerOf(value, "Div"); div >= 0) {
    const Normal normal = DeviationOf(editor, editor.node(div).inputs[1]);
    return normal.of == editor.node(div).inputs[0] ? normal : Normal();
  }
  if (const int32_t mul = editor.ProducerOf(value, "Mul"); mul >= 0) {
    for (int32_t input : editor.node(mul).inputs) {
      const int32_t reciprocal = editor.ProducerOf(input, "Reciprocal");
      if (reciprocal < 0) continue;
      const Normal normal = DeviationOf(editor, editor.node(reciprocal).inputs[0]);
      if (normal.of == Other(editor.node(mul), input)) return normal;
    }
  }
  return {};
}

// Floats in the shape of the last `axes` dimensions of `x`, all of them known.
bool FitsRow(const PlanEditor& editor, int32_t value, int32_t x, int32_t axes) {
  const ValueInfo& row = editor.info(value);
  const ValueInfo& data = editor.info(x);
  if (!editor.IsFloat(value) || row.rank != axes || data.rank < axes) return false;
  return std::equal(row.dims.begin(), row.dims.end(), data.dims.end() - axes,
                    [](int64_t a, int64_t b) { return a == b && a > 0; });
}

// Puts in the place of node `last` what it and those before it compute. `inputs`: x, scale, and bias if there is one.
void ReplaceByNormalization(PlanEditor& editor, int32_t last, std::vector<int32_t> inputs, const Normal& normal,
                            bool rms) {
  NodeDef node;
  node.name = editor.node(last).name;
  node.inputs = std::move(inputs);
  node.outputs = {editor.node(last).outputs[0]};
  node.attributes.push_back(FloatAttribute("epsilon", normal.epsilon));
  if (normal.axes == 1) {
    node.op_type = "Normalization";
    node.domain = kFusedDomain;
    node.attributes.push_back(IntAttribute("rms", rms ? 1 : 0));
  } else {
    node.op_type = "LayerNormalization";
    node.since_version = 17;
    node.attributes.push_back(IntAttribute("axis", -normal.axes));
  }
  editor.Replace(last, std::move(node));
}

// A normal value and the scale that it is multiplied with.
struct Scaled {
  Normal normal;
  int32_t scale = -1;
};

// Mul(scale, normal) at `mul`.
Scaled ScaledNormal(const PlanEditor& editor, int32_t mul) {
  for (int32_t input : editor.node(mul).inputs) {
    const Normal normal = NormalOf(editor, input);
    const int32_t scale = Other(editor.node(mul), input);
    if (normal.of >= 0 && editor.IsFloat(normal.of) && FitsRow(editor, scale, normal.of, normal.axes))
      return {normal, scale};
  }
  return {};
}

// normal.of = x - mean(x) over the same axes: x, or -1.
int32_t CentredOf(const PlanEditor& editor, const Normal& normal) {
  const int32_t sub = editor.ProducerOf(normal.of, "Sub");
  if (sub < 0) return -1;
  const int32_t x = editor.node(sub).inputs[0];
  const Mean mean = MeanOf(editor, editor.node(sub).inputs[1]);
  return mean.of == x && mean.axes == normal.axes ? x : -1;
}

// The Add at `add` of a bias and a scaled normal.
void FuseWithBias(PlanEditor& editor, int32_t add) {
  for (int32_t input : editor.node(add).inputs) {
    const int32_t mul = editor.ProducerOf(input, "Mul");
    if (mul < 0) continue;
    const Scaled scaled = ScaledNormal(editor, mul);
    const int32_t x = scaled.scale < 0 ? -1 : CentredOf(editor, scaled.normal);
    const int32_t bias = Other(editor.node(add), input);
    if (x < 0 || !FitsRow(editor, bias, x, scaled.normal.axes)) continue;
    ReplaceByNormalization(editor, add, {x, scaled.scale, bias}, scaled.normal, false);
    return;
  }
}

// The Mul at `mul` of a scale and a normal.
void FuseScaled(PlanEditor& editor, int32_t mul) {
  const Scaled scaled = ScaledNormal(editor, mul);
  if (scaled.scale < 0) return;
  const int32_t x = CentredOf(editor, scaled.normal);
  if (x < 0) {
    if (scaled.normal.axes == 1)
      ReplaceByNormalization(editor, mul, {scaled.normal.of, scaled.scale}, scaled.normal, true);
    return;
  }
  const int32_t product = editor.node(mul).outputs[0];
  const int32_t add = editor.OnlyReader(product);
  const bool takes_bias =
      editor.Is(add, "Add") && FitsRow(editor, Other(editor.node(add), product), x, scaled.normal.axes);
  if (!takes_bias) ReplaceByNormalization(editor, mul, {x, scaled.scale}, scaled.normal, false);
}

// A LayerNormalization over the last axis has a faster kernel.
void NarrowLayerNormalization(PlanEditor& editor, int32_t n) {
  const NodeDef& node = editor.node(n);
  const int64_t axis = node.Int("axis", -1);
  const int32_t x = node.inputs[0];
  const bool extra =
      (node.outputs.size() > 1 && node.outputs[1] >= 0) || (node.outputs.size() > 2 && node.outputs[2] >= 0);
  const bool last = axis == -1 || (editor.info(x).rank > 0 && axis == editor.info(x).rank - 1);
  if (extra || !last || !editor.IsFloat(x) || node.inputs.size() < 2 || !FitsRow(editor, node.inputs[1], x, 1) ||
      (node.inputs.size() > 2 && node.inputs[2] >= 0 && !FitsRow(editor, node.inputs[2], x, 1)))
    return;
  ReplaceByNormalization(editor, n, node.inputs, {x, 1, node.Float("epsilon", 1e-5f)}, false);
}

}  // namespace

void FuseNormalizations(PlanEditor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (editor.Is(n, "Add")) FuseWithBias(editor, n);
    if (editor.Is(n, "Mul")) FuseScaled(editor, n);
    if (editor.Is(n, "LayerNormalization")) NarrowLayerNormalization(editor, n);
  }
}

}  // namespace epiphyte::cpu
