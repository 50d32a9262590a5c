#include "epiphyte/kit/fuse/softmax.hpp"

#include <optional>

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

// The axis of a reduction of `of` with this operator, if it has one axis and keeps it.
std::optional<int64_t> AxisOf(const ir::Editor& editor, int32_t value, std::string_view op_type, int32_t of) {
  const Reduction reduction = ReductionOf(editor, value, op_type);
  if (!reduction || reduction.of != of || !reduction.keeps_dims || reduction.axes.size() != 1) return {};
  return reduction.axes[0];
}

// Returns x if value = x - max(x) along `axis`, else `value`. Subtracting a constant from each row does not change the
// result.
int32_t BeforeShift(const ir::Editor& editor, int32_t value, int64_t axis) {
  const int32_t sub = ArithmeticMaker(editor, value, "Sub");
  if (sub < 0) return value;
  const int32_t x = editor.node(sub).inputs[0];
  return AxisOf(editor, editor.node(sub).inputs[1], "ReduceMax", x) == axis ? x : value;
}

// The axis if value = log(sum(exp(z))) along one axis.
std::optional<int64_t> AxisOfLogSum(const ir::Editor& editor, int32_t value, int32_t z) {
  if (const auto axis = AxisOf(editor, value, "ReduceLogSumExp", z)) return axis;
  if (const Reduction sum = ReductionOf(editor, value, "ReduceLogSum")) {
    const int32_t exp = Maker(editor, sum.of, "Exp");
    if (exp >= 0 && editor.node(exp).inputs[0] == z) return AxisOf(editor, value, "ReduceLogSum", sum.of);
  }
  const int32_t log = Maker(editor, value, "Log");
  if (log < 0) return {};
  const Reduction sum = ReductionOf(editor, editor.node(log).inputs[0], "ReduceSum");
  const int32_t exp = sum ? Maker(editor, sum.of, "Exp") : -1;
  if (exp < 0 || editor.node(exp).inputs[0] != z) return {};
  return AxisOf(editor, editor.node(log).inputs[0], "ReduceSum", sum.of);
}

void ReplaceBy(ir::Editor& editor, int32_t n, std::string_view op_type, int32_t x, int64_t axis) {
  const int32_t y = editor.node(n).outputs[0];
  if (!IsFloatType(editor.info(x).type) || editor.info(y).type != editor.info(x).type ||
      (editor.info(y).rank >= 0 && editor.info(y).rank != editor.info(x).rank))
    return;
  ir::Node node;
  node.op_type = op_type;
  node.since_version = 13;
  node.name = editor.node(n).name;
  node.inputs = {x};
  node.outputs = {y};
  node.attributes.push_back(ir::Attribute::Int("axis", axis));
  editor.Replace(n, std::move(node));
}

// Fuses e / sum(e) with e = exp(z).
bool FuseQuotient(ir::Editor& editor, int32_t n, int32_t above, int32_t below) {
  const int32_t exp = Maker(editor, above, "Exp");
  const auto axis = exp < 0 ? std::nullopt : AxisOf(editor, below, "ReduceSum", above);
  if (!axis) return false;
  ReplaceBy(editor, n, "Softmax", BeforeShift(editor, editor.node(exp).inputs[0], *axis), *axis);
  return true;
}

// Fuses Exp(LogSoftmax(x)). FuseLogSoftmax makes that of exp(z - log(sum(exp(z)))).
void FuseExp(ir::Editor& editor, int32_t n) {
  const int32_t log = Maker(editor, editor.node(n).inputs[0], "LogSoftmax");
  if (log < 0 || editor.node(log).since_version < 13) return;
  ReplaceBy(editor, n, "Softmax", editor.node(log).inputs[0], editor.node(log).Int("axis", -1));
}

// Fuses z - log(sum(exp(z))).
void FuseLogSoftmax(ir::Editor& editor, int32_t n) {
  const int32_t z = editor.node(n).inputs[0];
  if (const auto axis = AxisOfLogSum(editor, editor.node(n).inputs[1], z))
    ReplaceBy(editor, n, "LogSoftmax", BeforeShift(editor, z, *axis), *axis);
}

// Fuses Log(Softmax(x)).
void FuseLogOfSoftmax(ir::Editor& editor, int32_t n) {
  const int32_t softmax = Maker(editor, editor.node(n).inputs[0], "Softmax");
  if (softmax < 0 || editor.node(softmax).since_version < 13) return;
  ReplaceBy(editor, n, "LogSoftmax", editor.node(softmax).inputs[0], editor.node(softmax).Int("axis", -1));
}

}  // namespace

void FuseSoftmax(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (IsArithmetic(editor, n, "Div")) {
      const std::vector<int32_t> operands = editor.node(n).inputs;
      FuseQuotient(editor, n, operands[0], operands[1]);
    } else if (IsArithmetic(editor, n, "Mul")) {
      const std::vector<int32_t> operands = editor.node(n).inputs;
      for (const size_t i : {size_t{0}, size_t{1}})
        if (FuseQuotient(editor, n, operands[i], BaseOfReciprocal(editor, operands[1 - i]))) break;
    } else if (IsNode(editor, n, "Exp")) {
      FuseExp(editor, n);
    } else if (IsArithmetic(editor, n, "Sub")) {
      FuseLogSoftmax(editor, n);
    } else if (IsNode(editor, n, "Log")) {
      FuseLogOfSoftmax(editor, n);
    }
  }
}

}  // namespace epiphyte::kit::fuse
