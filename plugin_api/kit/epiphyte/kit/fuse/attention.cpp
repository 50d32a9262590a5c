#include "epiphyte/kit/fuse/attention.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/operators.hpp"

namespace epiphyte::kit::fuse {
namespace {

using Perm = std::vector<int64_t>;

// An operand as a view of `value`, times `scale`. Dimension i of the GEMM's operand is dimension perm[i] of `value`.
struct View {
  int32_t value = -1;
  Perm perm = {0, 1, 2, 3};
  float scale = 1;
};

bool HasRank4(const ir::Editor& editor, int32_t value) {
  return editor.info(value).rank == 4 && IsFloatType(editor.info(value).type);
}

// The value before a division by, or multiplication with, a number; else -1.
int32_t BeforeScale(const ir::Editor& editor, int32_t value, float* scale) {
  float number = 0;
  if (const int32_t div = ArithmeticMaker(editor, value, "Div"); div >= 0) {
    if (!editor.Scalar(editor.node(div).inputs[1], &number) || number == 0) return -1;
    *scale /= number;
    return editor.node(div).inputs[0];
  }
  const int32_t mul = ArithmeticMaker(editor, value, "Mul");
  if (mul < 0) return -1;
  for (const size_t i : {size_t{1}, size_t{0}}) {
    if (!editor.Scalar(editor.node(mul).inputs[i], &number)) continue;
    *scale *= number;
    return editor.node(mul).inputs[1 - i];
  }
  return -1;
}

// True when `wide` is `x` with each head repeated, along the dimension after the heads.
bool IsRepeated(const ir::Value& x, const ir::Value& wide, const ir::Value& result) {
  const std::vector<int64_t>& from = x.dims;
  const std::vector<int64_t>& to = result.dims;
  if (x.rank != 4 || wide.rank != 5 || result.rank != 4) return false;
  if (from[1] <= 0 || wide.dims[2] <= 0 || to[1] != from[1] * wide.dims[2]) return false;
  return wide.dims[0] == from[0] && wide.dims[1] == from[1] && wide.dims[3] == from[2] && wide.dims[4] == from[3] &&
         to[0] == from[0] && to[2] == from[2] && to[3] == from[3] && from[3] > 0;
}

// Returns x if value = the heads of x repeated, written as Reshape(Expand(Unsqueeze(x, 2))) or with Tile; else -1.
int32_t RepeatedHeads(const ir::Editor& editor, int32_t value) {
  const int32_t reshape = Maker(editor, value, "Reshape");
  if (reshape < 0) return -1;
  const int32_t repeated = editor.node(reshape).inputs[0];
  int32_t repeat = Maker(editor, repeated, "Expand", 2);
  if (repeat < 0) repeat = Maker(editor, repeated, "Tile", 2);
  const int32_t unsqueeze = repeat < 0 ? -1 : Maker(editor, editor.node(repeat).inputs[0], "Unsqueeze");
  if (unsqueeze < 0) return -1;
  const ir::Node& node = editor.node(unsqueeze);
  const auto axes = ListOf(editor, node, "axes", 1);
  const int32_t x = node.inputs[0];
  if (!axes || axes->size() != 1 || (axes->front() != 2 && axes->front() != -3) || !HasRank4(editor, x)) return -1;
  return IsRepeated(editor.info(x), editor.info(repeated), editor.info(value)) ? x : -1;
}

// Follows a view through Transposes and, if `scaled`, through multiplications with numbers.
void LookThrough(const ir::Editor& editor, View& view, bool scaled) {
  constexpr int kMost = 4;
  for (int step = 0; step < kMost; ++step) {
    if (const int32_t transpose = Maker(editor, view.value, "Transpose"); transpose >= 0) {
      const Perm perm = editor.node(transpose).Ints("perm");
      const int32_t x = editor.node(transpose).inputs[0];
      constexpr int64_t kAxes[] = {0, 1, 2, 3};
      if (!HasRank4(editor, x) || !std::is_permutation(perm.begin(), perm.end(), std::begin(kAxes), std::end(kAxes)))
        return;
      for (int64_t& axis : view.perm) axis = perm[static_cast<size_t>(axis)];
      view.value = x;
      continue;
    }
    float scale = view.scale;
    const int32_t x = scaled ? BeforeScale(editor, view.value, &scale) : -1;
    if (x < 0 || !SameDims(editor, x, view.value)) return;
    view.value = x;
    view.scale = scale;
  }
}

View Trace(const ir::Editor& editor, int32_t value, bool heads, bool scaled) {
  View view{value};
  LookThrough(editor, view, scaled);
  if (heads && view.perm[1] == 1) {
    if (const int32_t x = RepeatedHeads(editor, view.value); x >= 0) view.value = x;
  }
  return view;
}

const Perm kIdentity = {0, 1, 2, 3};
const Perm kLastSwapped = {0, 1, 3, 2};

// Keys or values [batch, heads, keys, size] that follow those of earlier runs.
struct Cached {
  int32_t past = -1;
  int32_t added = -1;
  int32_t present = -1;  // the concatenation of past and added
  explicit operator bool() const { return present >= 0; }
};
Cached CachedOf(const ir::Editor& editor, int32_t value) {
  const int32_t concat = Maker(editor, value, "Concat", 2);
  if (concat < 0 || editor.node(concat).inputs.size() != 2) return {};
  const int64_t axis = editor.node(concat).Int("axis", 1);
  if (axis != 2 && axis != -2) return {};
  const Cached cached{editor.node(concat).inputs[0], editor.node(concat).inputs[1], value};
  return HasRank4(editor, cached.past) && HasRank4(editor, cached.added) ? cached : Cached();
}

class AttentionMatcher {
 public:
  AttentionMatcher(ir::Editor& editor, const AttentionOptions& options, int32_t product)
      : editor_(editor), options_(options), product_(product) {}

  void Fuse() {
    const ir::Node& last = editor_.node(product_);
    const int32_t weights = last.inputs[0];
    const int32_t v = last.inputs[1];
    const int32_t softmax = Maker(editor_, weights, "Softmax");
    if (softmax < 0 || !HasRank4(editor_, weights) || !HasRank4(editor_, v) || editor_.OnlyReader(weights) != product_)
      return;
    const ir::Node& soft = editor_.node(softmax);
    const int64_t axis = soft.Int("axis", soft.since_version >= 13 ? -1 : 1);
    if ((axis != -1 && axis != 3) || !FindScores(soft.inputs[0], softmax)) return;
    const ir::Node& scores = editor_.node(scores_);
    if (!HasRank4(editor_, scores.inputs[0]) || !HasRank4(editor_, scores.inputs[1])) return;
    q_ = Trace(editor_, scores.inputs[0], false, true);
    k_ = Trace(editor_, scores.inputs[1], true, true);
    v_ = Trace(editor_, v, true, false);
    if (HeadsOf(k_) != HeadsOf(v_)) return;  // keys and values must be repeated equally
    if (options_.cache) TakeCaches();
    if (options_.form == AttentionOptions::Form::kOnnx) {
      EmitOnnx();
    } else {
      EmitPermuted();
    }
  }

 private:
  int64_t HeadsOf(const View& view) const { return SizeOf(view, 1); }
  int64_t SizeOf(const View& view, size_t i) const {
    return editor_.info(view.value).dims[static_cast<size_t>(view.perm[i])];
  }

  // If keys and values are both appended to cached ones, makes the new ones and the caches separate inputs of the
  // operator.
  void TakeCaches() {
    if (k_.perm != kLastSwapped || v_.perm != kIdentity) return;
    const Cached keys = CachedOf(editor_, k_.value);
    const Cached values = CachedOf(editor_, v_.value);
    if (!keys || !values || keys.present == values.present) return;
    const std::set<int32_t> needed = {q_.value, mask_, keys.past, keys.added, values.past, values.added};
    if (!FeedsThisAlone(keys.present, needed) || !FeedsThisAlone(values.present, needed)) return;
    keys_ = keys;
    values_ = values;
    k_.value = keys.added;
    v_.value = values.added;
    if (options_.form == AttentionOptions::Form::kOnnx) return;
    LookThrough(editor_, k_, false);
    LookThrough(editor_, v_, false);
  }

  // True when every reader of `present`, direct or indirect, is part of this attention, and the attention needs none of
  // their results as input. The operator makes `present` at the position of its last node, so no other node may read it
  // before.
  bool FeedsThisAlone(int32_t present, const std::set<int32_t>& needed) const {
    constexpr size_t kMost = 64;
    std::set<int32_t> seen;
    std::vector<int32_t> work = editor_.Readers(present);
    while (!work.empty()) {
      const int32_t n = work.back();
      work.pop_back();
      if (n == scores_ || n == product_ || !seen.insert(n).second) continue;
      if (seen.size() > kMost) return false;
      for (const int32_t output : editor_.node(n).outputs) {
        if (output < 0) continue;
        if (editor_.IsOutput(output) || needed.contains(output)) return false;
        work.insert(work.end(), editor_.Readers(output).begin(), editor_.Readers(output).end());
      }
    }
    return true;
  }

  ir::Node NewNode() const {
    ir::Node node;
    node.op_type = kAttention;
    node.name = editor_.node(product_).name;
    node.outputs = {editor_.node(product_).outputs[0]};
    if (keys_) node.outputs.insert(node.outputs.end(), {keys_.present, values_.present});
    return node;
  }

  std::vector<int32_t> Inputs(int32_t q, int32_t k, int32_t v) const {
    std::vector<int32_t> inputs = {q, k, v, mask_};
    if (keys_) inputs.insert(inputs.end(), {keys_.past, values_.past});
    return inputs;
  }

  void EmitPermuted() {
    ir::Node node = NewNode();
    node.domain = kDomain;
    node.inputs = Inputs(q_.value, k_.value, v_.value);
    int32_t place = product_;
    Perm y_perm = kIdentity;
    const Perm heads_last = {0, 2, 1, 3};
    const int32_t transpose = editor_.OnlyReader(node.outputs[0]);
    if (IsNode(editor_, transpose, "Transpose") && editor_.node(transpose).Ints("perm") == heads_last) {
      y_perm = heads_last;
      node.outputs[0] = editor_.node(transpose).outputs[0];
      place = transpose;
    }
    node.attributes = {ir::Attribute::Ints("q_perm", q_.perm), ir::Attribute::Ints("k_perm", k_.perm),
                       ir::Attribute::Ints("v_perm", v_.perm), ir::Attribute::Ints("y_perm", y_perm),
                       ir::Attribute::Float("scale", scale_ * q_.scale * k_.scale)};
    editor_.Replace(place, std::move(node));
  }

  // ONNX's operator needs the same batch for all operands, and a mask of at least two dimensions.
  bool IsOnnx() const {
    const int64_t batch = SizeOf(q_, 0);
    if (SizeOf(k_, 0) != batch || SizeOf(v_, 0) != batch) return false;
    if (mask_ >= 0 && editor_.info(mask_).rank < 2) return false;
    const int64_t heads = HeadsOf(q_);
    const int64_t groups = HeadsOf(k_);
    return heads == groups || (heads > 0 && groups > 0 && heads % groups == 0);
  }

  void EmitOnnx() {
    if (!IsOnnx()) return;
    ir::Node node = NewNode();
    node.since_version = 23;
    // The operator's keys are [batch, heads, keys, size]; the GEMM's keys have the last two dimensions swapped.
    std::swap(k_.perm[2], k_.perm[3]);
    node.inputs = Inputs(InOrder(q_), InOrder(k_), InOrder(v_));
    while (node.inputs.back() < 0) node.inputs.pop_back();
    node.attributes = {ir::Attribute::Float("scale", scale_ * q_.scale * k_.scale)};
    editor_.Replace(product_, std::move(node));
  }

  // The value in the order of the view; inserts a Transpose if needed.
  int32_t InOrder(const View& view) {
    if (view.perm == kIdentity) return view.value;
    ir::Value value = editor_.info(view.value);
    for (size_t i = 0; i < 4; ++i) value.dims[i] = SizeOf(view, i);
    value.name = editor_.info(editor_.node(product_).outputs[0]).name + "/" + value.name;
    ir::Node transpose;
    transpose.op_type = "Transpose";
    transpose.since_version = 13;
    transpose.name = value.name;
    transpose.inputs = {view.value};
    transpose.outputs = {editor_.AddValue(std::move(value))};
    transpose.attributes = {ir::Attribute::Ints("perm", view.perm)};
    const int32_t made = transpose.outputs[0];
    editor_.InsertBefore(product_, std::move(transpose));
    return made;
  }

  // Follows the softmax's argument to the product of queries and keys.
  bool FindScores(int32_t value, int32_t reader) {
    constexpr int kMost = 4;
    for (int step = 0; step < kMost; ++step) {
      const int32_t producer = editor_.Producer(value);
      if (producer < 0 || editor_.OnlyReader(value) != reader || !HasRank4(editor_, value)) return false;
      if (IsNode(editor_, producer, "MatMul", 2)) {
        scores_ = producer;
        return true;
      }
      if (const int32_t scaled = BeforeScale(editor_, value, &scale_); scaled >= 0) {
        value = scaled;
      } else if (IsArithmetic(editor_, producer, "Add") && mask_ < 0 && scale_ == 1.0f) {
        // The mask is the operand that broadcasts over the other.
        const std::vector<int32_t>& operands = editor_.node(producer).inputs;
        const bool second = IsMask(operands[1], operands[0]);
        if (!second && !IsMask(operands[0], operands[1])) return false;
        mask_ = operands[second ? 1 : 0];
        value = operands[second ? 0 : 1];
      } else {
        return false;
      }
      reader = producer;
    }
    return false;
  }

  // True when adding `mask` to `scores` keeps the shape of the scores.
  bool IsMask(int32_t mask, int32_t scores) const {
    const int32_t below = editor_.Producer(scores);
    if (!IsNode(editor_, below, "MatMul", 2) && !editor_.Is(below, "Div") && !editor_.Is(below, "Mul")) return false;
    const ir::Value& m = editor_.info(mask);
    const ir::Value& s = editor_.info(scores);
    if (m.type != s.type || m.rank < 0 || m.rank > 4 || s.rank != 4) return false;
    for (size_t i = 0; i < m.dims.size(); ++i) {
      const int64_t dim = m.dims[m.dims.size() - 1 - i];
      // Unknown numbers of queries and keys fit, because masks are made for them.
      if (dim != 1 && dim != s.dims[3 - i] && (i > 1 || (dim > 0 && s.dims[3 - i] > 0))) return false;
    }
    return true;
  }

  ir::Editor& editor_;
  const AttentionOptions& options_;
  int32_t product_;
  View q_, k_, v_;
  Cached keys_, values_;
  int32_t scores_ = -1;
  int32_t mask_ = -1;
  float scale_ = 1.0f;
};

}  // namespace

void FuseAttention(ir::Editor& editor, const AttentionOptions& options) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!IsNode(editor, n, "MatMul", 2)) continue;
    const EpElementType type = editor.info(editor.node(n).outputs[0]).type;
    if (options.takes_type ? options.takes_type(type) : type == EP_TYPE_FLOAT)
      AttentionMatcher(editor, options, n).Fuse();
  }
}

}  // namespace epiphyte::kit::fuse
