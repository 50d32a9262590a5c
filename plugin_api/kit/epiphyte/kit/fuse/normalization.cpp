#include "epiphyte/kit/fuse/normalization.hpp"

#include <algorithm>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/normal_form.hpp"

namespace epiphyte::kit::fuse {
namespace {

// True when `value` has the type of `x` and the shape of its last `axes` dimensions, all of them known.
bool FitsRow(const ir::Editor& editor, int32_t value, int32_t x, int32_t axes) {
  const ir::Value& row = editor.info(value);
  const ir::Value& data = editor.info(x);
  if (row.type != data.type || row.rank != axes || data.rank < axes) return false;
  return std::equal(row.dims.begin(), row.dims.end(), data.dims.end() - axes,
                    [](int64_t a, int64_t b) { return a == b && a > 0; });
}

// Number of axes that a form normalises over, if these are the last ones, of a float type, and scaled by a row; else 0.
int32_t RowAxes(const ir::Editor& editor, const NormalForm& form, int32_t y) {
  if (!form || form.scale < 0) return 0;
  const ir::Value& x = editor.info(form.x);
  if (!IsFloatType(x.type) || editor.info(y).type != x.type) return 0;
  if (editor.info(y).rank >= 0 && editor.info(y).rank != x.rank) return 0;
  const int32_t axes = CountLastAxes(form.axes, x.rank);
  return axes > 0 && FitsRow(editor, form.scale, form.x, axes) ? axes : 0;
}

// Replaces node `last` by the normalisation that it and the nodes before it compute.
void ReplaceByNormalization(ir::Editor& editor, int32_t last, const NormalForm& form, int32_t axes) {
  ir::Node node;
  node.op_type = form.centred ? "LayerNormalization" : "RMSNormalization";
  node.since_version = form.centred ? 17 : 23;
  node.name = editor.node(last).name;
  node.inputs = {form.x, form.scale};
  if (form.bias >= 0) node.inputs.push_back(form.bias);
  node.outputs = {editor.node(last).outputs[0]};
  node.attributes = {ir::Attribute::Int("axis", -axes), ir::Attribute::Float("epsilon", form.epsilon)};
  editor.Replace(last, std::move(node));
}

void FuseWithBias(ir::Editor& editor, int32_t add) {
  const int32_t y = editor.node(add).outputs[0];
  const NormalForm form = ShiftedNormalOf(editor, y);
  if (!form.centred) return;
  if (const int32_t axes = RowAxes(editor, form, y); axes > 0 && FitsRow(editor, form.bias, form.x, axes))
    ReplaceByNormalization(editor, add, form, axes);
}

void FuseScaled(ir::Editor& editor, int32_t mul) {
  const int32_t y = editor.node(mul).outputs[0];
  const NormalForm form = ScaledNormalOf(editor, y);
  const int32_t axes = RowAxes(editor, form, y);
  if (axes == 0) return;
  // If an Add of a bias follows, that Add is replaced later, with the bias in the operator.
  const int32_t add = form.centred ? editor.OnlyReader(y) : -1;
  const bool takes_bias = IsArithmetic(editor, add, "Add") && FitsRow(editor, Other(editor.node(add), y), form.x, axes);
  if (!takes_bias) ReplaceByNormalization(editor, mul, form, axes);
}

}  // namespace

void FuseNormalizations(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (IsArithmetic(editor, n, "Add")) FuseWithBias(editor, n);
    if (IsArithmetic(editor, n, "Mul")) FuseScaled(editor, n);
  }
}

}  // namespace epiphyte::kit::fuse
