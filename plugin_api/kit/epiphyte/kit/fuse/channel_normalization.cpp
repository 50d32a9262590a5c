#include "epiphyte/kit/fuse/channel_normalization.hpp"

#include <algorithm>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/normal_form.hpp"

namespace epiphyte::kit::fuse {
namespace {

// value = inner * scale + shift, with one scale and shift for each channel of `inner`.
struct Affine {
  int32_t inner = -1;
  std::vector<double> scale, shift;
};

// Number of channels of floats [batch, channels, dimension, …]; else 0.
int64_t ChannelsOf(const ir::Editor& editor, int32_t value) {
  if (!editor.IsFloat(value)) return 0;
  const ir::Value& info = editor.info(value);
  return info.rank >= 3 && info.dims[1] > 0 ? info.dims[1] : 0;
}

// The operand of `mul` with the constants that multiply it.
Affine ScaledBy(const ir::Editor& editor, int32_t mul, size_t channels, size_t rank) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    auto scale = PerChannel(editor, editor.node(mul).inputs[i], channels, rank);
    if (scale) return {editor.node(mul).inputs[1 - i], std::move(*scale), std::vector<double>(channels, 0.0)};
  }
  return {};
}

// The affine function of node `n`: an Add after a Mul, or a Mul alone.
Affine AffineOf(const ir::Editor& editor, int32_t n) {
  const int32_t y = editor.node(n).outputs[0];
  const auto channels = static_cast<size_t>(ChannelsOf(editor, y));
  if (channels == 0) return {};
  const auto rank = static_cast<size_t>(editor.info(y).rank);
  const auto is_shift = [&](int32_t value) { return PerChannel(editor, value, channels, rank).has_value(); };
  if (IsArithmetic(editor, n, "Mul")) {
    const int32_t add = editor.OnlyReader(y);
    if (IsArithmetic(editor, add, "Add") && is_shift(Other(editor.node(add), y))) return {};
    return ScaledBy(editor, n, channels, rank);
  }
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t mul = ArithmeticMaker(editor, editor.node(n).inputs[i], "Mul");
    auto shift = PerChannel(editor, editor.node(n).inputs[1 - i], channels, rank);
    if (mul < 0 || !shift) continue;
    Affine affine = ScaledBy(editor, mul, channels, rank);
    affine.shift = std::move(*shift);
    return affine;
  }
  return {};
}

// True when a form covers all dimensions after [batch, channel].
bool IsOverImages(const ir::Editor& editor, const NormalForm& form) {
  if (!form || !form.centred || ChannelsOf(editor, form.x) == 0) return false;
  const int32_t rank = editor.info(form.x).rank;
  return CountLastAxes(form.axes, rank) == rank - 2;
}

int32_t AddNumbers(ir::Editor& editor, std::string name, const std::vector<double>& numbers) {
  const std::vector<float> floats(numbers.begin(), numbers.end());
  return editor.AddConstant(std::move(name), {static_cast<int64_t>(floats.size())}, floats);
}

void ReplaceBy(ir::Editor& editor, int32_t n, int32_t x, const std::vector<double>& scale,
               const std::vector<double>& shift, float epsilon, int64_t groups) {
  ir::Node node;
  node.op_type = groups > 0 ? "GroupNormalization" : "InstanceNormalization";
  node.since_version = groups > 0 ? 21 : 6;
  node.name = editor.node(n).name;
  const std::string stem = editor.info(editor.node(n).outputs[0]).name;
  node.inputs = {x, AddNumbers(editor, stem + "_scale", scale), AddNumbers(editor, stem + "_bias", shift)};
  node.outputs = {editor.node(n).outputs[0]};
  node.attributes.push_back(ir::Attribute::Float("epsilon", epsilon));
  if (groups > 0) node.attributes.push_back(ir::Attribute::Int("num_groups", groups));
  editor.Replace(n, std::move(node));
}

bool FuseInstance(ir::Editor& editor, int32_t n, const Affine& affine) {
  const NormalForm form = NormalOf(editor, affine.inner);
  if (!IsOverImages(editor, form) || !SameDims(editor, form.x, editor.node(n).outputs[0])) return false;
  ReplaceBy(editor, n, form.x, affine.scale, affine.shift, form.epsilon, 0);
  return true;
}

// Fuses the form with s = scale / deviation in both products. Scale and bias have one number for each channel.
bool FusePreparedInstance(ir::Editor& editor, int32_t n) {
  const int32_t y = editor.node(n).outputs[0];
  const NormalForm form = ShiftedNormalOf(editor, y);
  if (!IsOverImages(editor, form) || !SameDims(editor, form.x, y)) return false;
  const auto channels = static_cast<size_t>(ChannelsOf(editor, form.x));
  const auto rank = static_cast<size_t>(editor.info(form.x).rank);
  const auto scale = PerChannel(editor, form.scale, channels, rank);
  const auto shift = PerChannel(editor, form.bias, channels, rank);
  if (!scale || !shift) return false;
  ReplaceBy(editor, n, form.x, *scale, *shift, form.epsilon, 0);
  return true;
}

// Normalisation in groups: [batch, groups, …], with an optional scale and shift for each group.
struct Groups {
  int32_t reshaped = -1;
  float epsilon = 0;
  std::vector<float> scale, shift;
};

Groups GroupsOf(const ir::Editor& editor, int32_t value) {
  if (const int32_t instance = Maker(editor, value, "InstanceNormalization", 3); instance >= 0) {
    const ir::Node& node = editor.node(instance);
    auto scale = editor.Floats(node.inputs[1]);
    auto shift = editor.Floats(node.inputs[2]);
    if (!scale || !shift) return {};
    return {node.inputs[0], node.Float("epsilon", 1e-5f), std::move(*scale), std::move(*shift)};
  }
  const NormalForm form = NormalOf(editor, value);
  if (!IsOverImages(editor, form)) return {};
  return {form.x, form.epsilon, {}, {}};
}

// True when Reshape `reshape` keeps the batch dimension.
bool KeepsBatch(const ir::Editor& editor, int32_t reshape) {
  const ir::Node& node = editor.node(reshape);
  const ir::Value& from = editor.info(node.inputs[0]);
  const ir::Value& to = editor.info(node.outputs[0]);
  if (from.dims[0] > 0 && from.dims[0] == to.dims[0]) return true;
  const auto shape = ListOf(editor, node, "shape", 1);
  return shape && !shape->empty() && shape->front() == 0 && node.Int("allowzero", 0) == 0;
}

// True when `shape`, an input of Reshape, is the shape of x.
bool IsShapeOf(const ir::Editor& editor, int32_t shape, int32_t x) {
  const int32_t maker = Maker(editor, shape, "Shape");
  return maker >= 0 && editor.node(maker).inputs[0] == x && !editor.node(maker).Has("start") &&
         !editor.node(maker).Has("end");
}

bool FuseGroups(ir::Editor& editor, int32_t n, const Affine& affine) {
  const int32_t back = Maker(editor, affine.inner, "Reshape");
  if (back < 0) return false;
  const Groups inner = GroupsOf(editor, editor.node(back).inputs[0]);
  const int32_t reshape = Maker(editor, inner.reshaped, "Reshape");
  if (reshape < 0) return false;
  const int32_t x = editor.node(reshape).inputs[0];
  const int32_t y = editor.node(n).outputs[0];
  const int64_t channels = ChannelsOf(editor, x);
  const int64_t groups = ChannelsOf(editor, inner.reshaped);
  if (channels == 0 || groups == 0 || channels % groups != 0 || !KeepsBatch(editor, reshape)) return false;
  if (!SameDims(editor, x, y)) return false;
  const bool same_shape = editor.SameStaticShape(x, y) ||
                          (editor.node(back).HasInput(1) && IsShapeOf(editor, editor.node(back).inputs[1], x));
  if (!same_shape) return false;
  std::vector<double> scale = affine.scale;
  std::vector<double> shift = affine.shift;
  if (!inner.scale.empty()) {
    if (inner.scale.size() != static_cast<size_t>(groups) || inner.shift.size() != inner.scale.size()) return false;
    const auto members = static_cast<size_t>(channels / groups);
    for (size_t c = 0; c < scale.size(); ++c) {
      shift[c] += scale[c] * static_cast<double>(inner.shift[c / members]);
      scale[c] *= static_cast<double>(inner.scale[c / members]);
    }
  }
  ReplaceBy(editor, n, x, scale, shift, inner.epsilon, groups);
  return true;
}

}  // namespace

void FuseChannelNormalizations(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    const bool is_add = IsArithmetic(editor, n, "Add");
    if (!is_add && !IsArithmetic(editor, n, "Mul")) continue;
    const Affine affine = AffineOf(editor, n);
    if (affine.inner >= 0 && (FuseInstance(editor, n, affine) || FuseGroups(editor, n, affine))) continue;
    if (is_add) FusePreparedInstance(editor, n);
  }
}

}  // namespace epiphyte::kit::fuse
