#include "epiphyte/kit/fuse/normal_form.hpp"

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

// The deviation of x, or of x - mean(x).
struct Deviation {
  int32_t x = -1;
  bool centred = false;
  std::vector<int64_t> axes;
  float epsilon = 0;
  explicit operator bool() const { return x >= 0; }
};

// Returns x if value = x - mean(x) over these axes, with kept dimensions; else -1.
int32_t CentredOf(const ir::Editor& editor, int32_t value, const std::vector<int64_t>& axes) {
  const int32_t sub = ArithmeticMaker(editor, value, "Sub");
  if (sub < 0) return -1;
  const int32_t x = editor.node(sub).inputs[0];
  const Reduction mean = ReductionOf(editor, editor.node(sub).inputs[1], "ReduceMean");
  return mean && mean.keeps_dims && mean.of == x && mean.axes == axes ? x : -1;
}

// Recognises value = mean of the squares + epsilon.
Deviation VarianceOf(const ir::Editor& editor, int32_t value) {
  Deviation deviation;
  const Reduction square = ReductionOf(editor, WithoutAddend(editor, value, &deviation.epsilon), "ReduceMean");
  const int32_t base = square && square.keeps_dims ? BaseOfSquare(editor, square.of) : -1;
  if (base < 0) return {};
  const int32_t x = CentredOf(editor, base, square.axes);
  deviation.centred = x >= 0;
  deviation.x = x >= 0 ? x : base;
  deviation.axes = square.axes;
  return deviation;
}

Deviation DeviationOf(const ir::Editor& editor, int32_t value) { return VarianceOf(editor, BaseOfRoot(editor, value)); }

// Recognises value = 1 / deviation.
Deviation InverseDeviationOf(const ir::Editor& editor, int32_t value) {
  if (const int32_t pow = ArithmeticMaker(editor, value, "Pow"); pow >= 0) {
    if (editor.IsScalarNear(editor.node(pow).inputs[1], -0.5)) return VarianceOf(editor, editor.node(pow).inputs[0]);
  }
  return DeviationOf(editor, BaseOfReciprocal(editor, value));
}

// True when `value` divided by that deviation is normalised.
bool IsNumerator(const ir::Editor& editor, int32_t value, const Deviation& deviation) {
  if (!deviation) return false;
  return deviation.centred ? CentredOf(editor, value, deviation.axes) == deviation.x : value == deviation.x;
}

NormalForm FormOf(const Deviation& deviation) {
  return {deviation.x, deviation.centred, deviation.axes, deviation.epsilon, -1, -1};
}

// Recognises s = 1 / deviation * scale, in either order.
NormalForm ScaledInverseOf(const ir::Editor& editor, int32_t value) {
  const int32_t mul = ArithmeticMaker(editor, value, "Mul");
  if (mul < 0) return {};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Deviation deviation = InverseDeviationOf(editor, editor.node(mul).inputs[i]);
    if (!deviation) continue;
    NormalForm form = FormOf(deviation);
    form.scale = editor.node(mul).inputs[1 - i];
    return form;
  }
  return {};
}

// Replaces x by its source before the cast for the statistics, if the result has that source's type.
void LookBehindCast(const ir::Editor& editor, int32_t result, NormalForm& form) {
  const int32_t before = WithoutCasts(editor, form.x);
  if (editor.info(form.x).type != editor.info(result).type && editor.info(before).type == editor.info(result).type)
    form.x = before;
}

// Recognises value = x * s + (bias - mean(x) * s).
NormalForm PreparedNormalOf(const ir::Editor& editor, int32_t value) {
  const int32_t add = ArithmeticMaker(editor, value, "Add");
  if (add < 0) return {};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t product = ArithmeticMaker(editor, editor.node(add).inputs[i], "Mul");
    const int32_t sub = ArithmeticMaker(editor, editor.node(add).inputs[1 - i], "Sub");
    const int32_t shift = sub < 0 ? -1 : ArithmeticMaker(editor, editor.node(sub).inputs[1], "Mul");
    if (product < 0 || shift < 0) continue;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const int32_t s = editor.node(product).inputs[k];
      NormalForm form = ScaledInverseOf(editor, s);
      if (!form || !form.centred || editor.node(product).inputs[1 - k] != form.x) continue;
      const std::vector<int32_t>& factors = editor.node(shift).inputs;
      const Reduction mean = ReductionOf(editor, Other(editor.node(shift), s), "ReduceMean");
      if ((factors[0] != s && factors[1] != s) || mean.of != form.x || !mean.keeps_dims || mean.axes != form.axes)
        continue;
      form.bias = editor.node(sub).inputs[0];
      return form;
    }
  }
  return {};
}

}  // namespace

NormalForm NormalOf(const ir::Editor& editor, int32_t value) {
  if (const int32_t div = ArithmeticMaker(editor, value, "Div"); div >= 0) {
    const Deviation deviation = DeviationOf(editor, editor.node(div).inputs[1]);
    return IsNumerator(editor, editor.node(div).inputs[0], deviation) ? FormOf(deviation) : NormalForm();
  }
  if (const int32_t mul = ArithmeticMaker(editor, value, "Mul"); mul >= 0) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Deviation deviation = InverseDeviationOf(editor, editor.node(mul).inputs[i]);
      if (IsNumerator(editor, editor.node(mul).inputs[1 - i], deviation)) return FormOf(deviation);
    }
  }
  return {};
}

NormalForm ScaledNormalOf(const ir::Editor& editor, int32_t value) {
  const int32_t mul = ArithmeticMaker(editor, value, "Mul");
  if (mul < 0) return {};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t operand = editor.node(mul).inputs[i];
    const int32_t other = editor.node(mul).inputs[1 - i];
    NormalForm form = NormalOf(editor, WithoutCasts(editor, operand));
    if (form) {
      form.scale = other;
      LookBehindCast(editor, value, form);
      return form;
    }
    form = ScaledInverseOf(editor, operand);
    if (form && (form.centred ? CentredOf(editor, other, form.axes) == form.x : other == form.x)) return form;
  }
  return {};
}

NormalForm ShiftedNormalOf(const ir::Editor& editor, int32_t value) {
  const int32_t add = ArithmeticMaker(editor, value, "Add");
  if (add < 0) return {};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    NormalForm form = ScaledNormalOf(editor, editor.node(add).inputs[i]);
    if (!form) continue;
    form.bias = editor.node(add).inputs[1 - i];
    return form;
  }
  return PreparedNormalOf(editor, value);
}

int32_t CountLastAxes(const std::vector<int64_t>& axes, int32_t rank) {
  if (axes == std::vector<int64_t>{-1}) return 1;
  const auto count = static_cast<int32_t>(axes.size());
  if (rank < 1 || count > rank) return 0;
  for (int32_t i = 0; i < count; ++i)
    if (axes[static_cast<size_t>(i)] != rank - count + i) return 0;
  return count;
}

}  // namespace epiphyte::kit::fuse
