#include "epiphyte/kit/fuse/normalization.hpp"

#include <algorithm>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/normal_form.hpp"

namespace epiphyte::kit::fuse {
namespace {

// In the shape of the last `axes` dimensions of `x`, all of them known, and of its type.
bool FitsRow(const ir::Editor& editor, int32_t value, int32_t x, int32_t axes) {
  const ir::Value& row = editor.info(value);
  const ir::Value& data = editor.info(x);
  if (row.type != data.type || row.rank != axes || data.rank < axes) return false;
  return std::equal(row.dims.begin(), row.dims.end(), data.dims.end() - axes,
                    [](int64_t a, int64_t b) { return a == b && a > 0; });
}

// The axes that a form normalises over when it is over the last ones, of a float type, and scaled by a row; else 0.
int32_t RowAxes(const ir::Editor& editor, const NormalForm& form, int32_t y) {
  if (!form || form.scale < 0) return 0;
  const ir::Value& x = editor.info(form.x);
  if (!IsFloatType(x.type) || editor.info(y).type != x.type) return 0;
  if (editor.info(y).rank >= 0 && editor.info(y).rank != x.rank) return 0;
  const int32_t axes = CountLastAxes(form.axes, x.rank);
  return axes > 0 && FitsRow(editor, form.scale, form.x, axes) ? axes : 0;
}

// Puts in the place of node `last` what it and those before it compute.
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
  // An Add of a bias behind it makes one operator of all, when it is looked at.
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
