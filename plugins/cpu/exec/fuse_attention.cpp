// Recognises attention: MatMul(Softmax(MatMul(q, k) * scale + mask), v), with the transposes around it and the
// repetition of key and value heads. As one node nothing but the result is written to memory.
#include <algorithm>

#include "plugins/cpu/exec/plan_editor.h"

namespace epiphyte::cpu {
namespace {

// An operand as a view: `value`, whose dimension perm[i] is dimension i of what the product reads.
struct View {
  int32_t value = -1;
  std::vector<int64_t> perm = {0, 1, 2, 3};
};

bool HasRank4(const PlanEditor& editor, int32_t value) { return editor.IsFloat(value) && editor.info(value).rank == 4; }

bool IntsOf(const PlanEditor& editor, int32_t value, std::vector<int64_t>* ints) {
  const ir::Tensor* constant = editor.ConstantOf(value);
  if (constant == nullptr || constant->type != EP_TYPE_INT64 || constant->data == nullptr) return false;
  ints->assign(constant->as<int64_t>(), constant->as<int64_t>() + constant->Count());
  return true;
}

// value = heads of `x` repeated: Reshape(Expand(Unsqueeze(x, 2))): x, or -1.
int32_t RepeatedHeads(const PlanEditor& editor, int32_t value) {
  const int32_t reshape = editor.ProducerOf(value, "Reshape");
  if (reshape < 0) return -1;
  const int32_t expand = editor.ProducerOf(editor.node(reshape).inputs[0], "Expand");
  if (expand < 0) return -1;
  const int32_t unsqueeze = editor.ProducerOf(editor.node(expand).inputs[0], "Unsqueeze");
  if (unsqueeze < 0) return -1;
  const NodeDef& node = editor.node(unsqueeze);
  std::vector<int64_t> axes = node.Ints("axes");
  if (node.inputs.size() > 1 && !IntsOf(editor, node.inputs[1], &axes)) return -1;
  const int32_t x = node.inputs[0];
  if (axes != std::vector<int64_t>{2} || !HasRank4(editor, x)) return -1;
  const std::vector<int64_t>& from = editor.info(x).dims;
  const ValueInfo& wide = editor.info(editor.node(expand).outputs[0]);
  const std::vector<int64_t>& to = editor.info(value).dims;
  if (wide.rank != 5 || from[1] <= 0 || wide.dims[2] <= 0 || to[1] != from[1] * wide.dims[2]) return -1;
  const bool same = wide.dims[0] == from[0] && wide.dims[1] == from[1] && wide.dims[3] == from[2] &&
                    wide.dims[4] == from[3] && to[0] == from[0] && to[2] == from[2] && to[3] == from[3] && from[3] > 0;
  return same ? x : -1;
}

// Looks through a Transpose, and through repeated heads beneath it.
View Trace(const PlanEditor& editor, int32_t value, bool heads) {
  View view{value};
  if (const int32_t transpose = editor.ProducerOf(value, "Transpose"); transpose >= 0) {
    const std::vector<int64_t> perm = editor.node(transpose).Ints("perm");
    const int32_t x = editor.node(transpose).inputs[0];
    const std::vector<int64_t> axes = view.perm;
    if (HasRank4(editor, x) && std::is_permutation(perm.begin(), perm.end(), axes.begin(), axes.end()))
      view = {x, perm};
  }
  if (heads && view.perm[1] == 1) {
    if (const int32_t x = RepeatedHeads(editor, view.value); x >= 0) view.value = x;
  }
  return view;
}

class AttentionMatcher {
 public:
  AttentionMatcher(PlanEditor& editor, int32_t product) : editor_(editor), product_(product) {}

  bool Fuse() {
    const NodeDef& last = editor_.node(product_);
    const int32_t weights = last.inputs[0];
    const int32_t v = last.inputs[1];
    const int32_t softmax = editor_.ProducerOf(weights, "Softmax");
    if (softmax < 0 || !HasRank4(editor_, weights) || !HasRank4(editor_, v) || editor_.OnlyReader(weights) != product_)
      return false;
    const NodeDef& soft = editor_.node(softmax);
    const int64_t axis = soft.Int("axis", soft.since_version >= 13 ? -1 : 1);
    if (axis != -1 && axis != 3) return false;
    if (!FindScores(soft.inputs[0], softmax)) return false;
    const NodeDef& scores = editor_.node(scores_);
    if (!HasRank4(editor_, scores.inputs[0]) || !HasRank4(editor_, scores.inputs[1])) return false;

    const View q_view = Trace(editor_, scores.inputs[0], false);
    const View k_view = Trace(editor_, scores.inputs[1], true);
    const View v_view = Trace(editor_, v, true);
    // Key and value heads must be repeated alike.
    if (editor_.info(k_view.value).dims[k_view.perm[1]] != editor_.info(v_view.value).dims[v_view.perm[1]])
      return false;

    NodeDef node;
    node.op_type = "Attention";
    node.domain = kFusedDomain;
    node.name = last.name;
    node.inputs = {q_view.value, k_view.value, v_view.value, mask_};
    node.outputs = last.outputs;
    int32_t place = product_;
    std::vector<int64_t> y_perm = {0, 1, 2, 3};
    if (const int32_t transpose = editor_.OnlyReader(last.outputs[0]); editor_.Is(transpose, "Transpose")) {
      if (editor_.node(transpose).Ints("perm") == std::vector<int64_t>{0, 2, 1, 3}) {
        y_perm = {0, 2, 1, 3};
        node.outputs = editor_.node(transpose).outputs;
        place = transpose;
      }
    }
    node.attributes = {IntsAttribute("q_perm", q_view.perm), IntsAttribute("k_perm", k_view.perm),
                       IntsAttribute("v_perm", v_view.perm), IntsAttribute("y_perm", y_perm),
                       FloatAttribute("scale", scale_)};
    editor_.Replace(place, std::move(node));
    return true;
  }

 private:
  // From the softmax's argument down to the product of queries and keys.
  bool FindScores(int32_t value, int32_t reader) {
    for (int step = 0; step < 4; ++step) {
      const int32_t producer = editor_.Producer(value);
      if (producer < 0 || editor_.OnlyReader(value) != reader) return false;
      const NodeDef& node = editor_.node(producer);
      float number = 0;
      if (editor_.Is(producer, "MatMul")) {
        scores_ = producer;
        return true;
      }
      if (editor_.Is(producer, "Div") && editor_.Scalar(node.inputs[1], &number) && number != 0) {
        scale_ /= number;
        value = node.inputs[0];
      } else if (editor_.Is(producer, "Mul") && editor_.Scalar(node.inputs[1], &number)) {
        scale_ *= number;
        value = node.inputs[0];
      } else if (editor_.Is(producer, "Mul") && editor_.Scalar(node.inputs[0], &number)) {
        scale_ *= number;
        value = node.inputs[1];
      } else if (editor_.Is(producer, "Add") && mask_ < 0 && scale_ == 1.0f) {
        // The mask is the operand that spreads over the other.
        const int32_t scores = IsMask(node.inputs[1], node.inputs[0])   ? 0
                               : IsMask(node.inputs[0], node.inputs[1]) ? 1
                                                                        : -1;
        if (scores < 0) return false;
        mask_ = node.inputs[1 - scores];
        value = node.inputs[scores];
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
    if (!editor_.Is(below, "MatMul") && !editor_.Is(below, "Div") && !editor_.Is(below, "Mul")) return false;
    const ValueInfo& m = editor_.info(mask);
    const ValueInfo& s = editor_.info(scores);
    if (!editor_.IsFloat(mask) || m.rank < 0 || m.rank > 4 || s.rank != 4) return false;
    for (int32_t i = 0; i < m.rank; ++i) {
      const int64_t dim = m.dims[m.rank - 1 - i];
      // Queries and keys of unknown number fit: a mask is made for them.
      if (dim != 1 && dim != s.dims[3 - i] && (i > 1 || (dim > 0 && s.dims[3 - i] > 0))) return false;
    }
    return true;
  }

  PlanEditor& editor_;
  int32_t product_;
  int32_t scores_ = -1;
  int32_t mask_ = -1;
  float scale_ = 1.0f;
};

}  // namespace

void FuseAttention(PlanEditor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n)
    if (editor.Is(n, "MatMul") && editor.node(n).inputs.size() == 2) AttentionMatcher(editor, n).Fuse();
}

}  // namespace epiphyte::cpu
