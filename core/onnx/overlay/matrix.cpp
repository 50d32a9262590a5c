// Inference of Gemm, Einsum, Attention and the normalizations over last axes.
#include <algorithm>
#include <map>
#include <string>

#include "core/onnx/infer/node_inference.h"
#include "core/onnx/overlay/overlay_inference.h"

namespace epiphyte::core {
namespace {

// Batch, heads, sequence length and head size of Q, K or V. The input is [B,H,L,E] or [B,L,H*E].
struct Heads {
  Dim batch, heads, length, size;
};

std::optional<Heads> ReadHeads(const NodeInference& node, size_t input, std::string_view count_attribute) {
  const Shape* shape = node.shape(input);
  if (shape == nullptr) return std::nullopt;
  if (shape->size() == 4) return Heads{(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
  if (shape->size() != 3) node.Reject("input {} of rank {}, 3 or 4 expected", input, shape->size());
  const int64_t count = node.node().IntAttribute(count_attribute, 0);
  if (count <= 0) node.Reject("inputs of rank 3 need the attribute '{}'", count_attribute);
  const Dim& hidden = (*shape)[2];
  if (hidden.known() && hidden.value % count != 0) {
    node.Reject("input {} has {} columns, a multiple of {}={} expected", input, hidden.value, count_attribute, count);
  }
  return Heads{(*shape)[0], Dim(count), (*shape)[1], hidden.known() ? Dim(hidden.value / count) : Dim()};
}

// The dimensions that the letters and the ellipsis of an equation represent.
struct EinsumAxes {
  std::map<char, Dim> letters;
  std::map<char, int> uses;
  std::optional<Shape> ellipsis;
};

constexpr std::string_view kEllipsis = "...";

// Calls visit(letter) for each letter of a term and visit('.') for its ellipsis.
template <typename Visit>
void VisitTerm(const NodeInference& node, std::string_view term, const Visit& visit) {
  bool had_ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (!had_ellipsis && term.substr(i).starts_with(kEllipsis)) {
      had_ellipsis = true;
      i += kEllipsis.size() - 1;
      visit('.');
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      visit(c);
    } else {
      node.Reject("attribute 'equation' has the term '{}', letters and one ellipsis expected", term);
    }
  }
}

void ReadTerm(const NodeInference& node, std::string_view term, size_t input, EinsumAxes* axes) {
  const Shape& shape = *node.shape(input);
  size_t letters = 0;
  bool has_ellipsis = false;
  VisitTerm(node, term, [&](char c) {
    has_ellipsis |= c == '.';
    letters += c != '.';
  });
  if (has_ellipsis ? shape.size() < letters : shape.size() != letters)
    node.Reject("input {} has rank {}, but its term of the equation is '{}'", input, shape.size(), term);
  const size_t spread = shape.size() - letters;
  auto dim = shape.begin();
  VisitTerm(node, term, [&](char c) {
    if (c == '.') {
      const Shape part(dim, dim + static_cast<ptrdiff_t>(spread));
      axes->ellipsis = axes->ellipsis ? Broadcast(node, *axes->ellipsis, part) : part;
      dim += static_cast<ptrdiff_t>(spread);
      return;
    }
    ++axes->uses[c];
    const auto [known, is_new] = axes->letters.try_emplace(c, *dim);
    // Whether two different sizes are compatible is checked during the run.
    if (!is_new && known->second != *dim) known->second = Dim();
    ++dim;
  });
}

}  // namespace

// Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen? → Y, present_key?, present_value?, qk_matmul_output?
void InferAttention(NodeInference& node) {
  const DataType element = node.element(0);
  const auto q = ReadHeads(node, 0, "q_num_heads");
  const auto k = ReadHeads(node, 1, "kv_num_heads");
  const auto v = ReadHeads(node, 2, "kv_num_heads");
  if (!q || !k || !v) {
    node.SetTensor(0, element, std::nullopt);
    node.SetTensor(1, node.element(1), std::nullopt);
    node.SetTensor(2, node.element(2), std::nullopt);
    return node.SetTensor(3, element, std::nullopt);
  }
  Dim total = k->length;
  if (node.node().input(4) != nullptr) {
    const Shape* past = node.shape(4);
    total = Dim();
    if (past != nullptr && past->size() == 4 && (*past)[2].known() && k->length.known()) {
      total = AddDims((*past)[2], k->length.value);
    }
  }
  if (node.shape(0)->size() == 4) {
    node.SetTensor(0, element, Shape{q->batch, q->heads, q->length, v->size});
  } else {
    node.SetTensor(0, element, Shape{q->batch, q->length, MulDims(q->heads, v->size)});
  }
  node.SetTensor(1, node.element(1), Shape{k->batch, k->heads, total, k->size});
  node.SetTensor(2, node.element(2), Shape{v->batch, v->heads, total, v->size});
  node.SetTensor(3, element, Shape{q->batch, q->heads, q->length, total});
}

void InferRmsNormalization(NodeInference& node) {
  const Shape* shape = node.shape(0);
  if (shape != nullptr) node.Axis(node.node().IntAttribute("axis", -1), shape->size());
  if (node.element(1) == node.element(0)) return node.SetLike(0, 0);
  node.SetTensor(0, node.element(1), shape == nullptr ? std::nullopt : std::optional(*shape));
}

void InferLayerNormalization(NodeInference& node) {
  node.SetLike(0, 0);
  const Shape* input = node.shape(0);
  const int64_t stash_type = node.node().IntAttribute("stash_type", 1);
  const DataType statistics = stash_type == 1 ? DataType::kFloat : node.element(0);
  std::optional<Shape> reduced;
  if (input != nullptr) {
    const size_t axis = node.Axis(node.node().IntAttribute("axis", -1), input->size());
    reduced = *input;
    for (size_t i = axis; i < reduced->size(); ++i) (*reduced)[i] = Dim(1);
  }
  node.SetTensor(1, statistics, reduced);
  node.SetTensor(2, statistics, std::move(reduced));
}

void InferGemm(NodeInference& node) {
  const Shape* a = node.shape(0);
  const Shape* b = node.shape(1);
  if ((a != nullptr && a->size() != 2) || (b != nullptr && b->size() != 2)) {
    node.Reject("inputs of rank {} and {}, 2 expected", a ? a->size() : 2, b ? b->size() : 2);
  }
  if (a == nullptr || b == nullptr) return node.SetTensor(0, node.element(0), Shape(2));
  const bool transpose_a = node.node().IntAttribute("transA", 0) != 0;
  const bool transpose_b = node.node().IntAttribute("transB", 0) != 0;
  const Dim& inner_a = (*a)[transpose_a ? 0 : 1];
  const Dim& inner_b = (*b)[transpose_b ? 1 : 0];
  if (inner_a.known() && inner_b.known() && inner_a.value != inner_b.value) {
    node.Reject("inner dimensions {} and {} differ", inner_a.value, inner_b.value);
  }
  node.SetTensor(0, node.element(0), Shape{(*a)[transpose_a ? 1 : 0], (*b)[transpose_b ? 0 : 1]});
}

// libonnx counts the letters of an equation without an arrow in an array of 26 and overruns it for capital letters.
void InferEinsum(NodeInference& node) {
  std::string equation = node.node().StringAttribute("equation");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  const std::string_view left = std::string_view(equation).substr(0, arrow);
  const size_t inputs = node.node().inputs().size();
  EinsumAxes axes;
  size_t input = 0;
  for (size_t begin = 0; begin <= left.size(); ++input) {
    const size_t end = std::min(left.find(',', begin), left.size());
    if (input < inputs) {
      if (node.shape(input) == nullptr) return node.SetTensor(0, node.element(0), std::nullopt);
      ReadTerm(node, left.substr(begin, end - begin), input, &axes);
    }
    begin = end + 1;
  }
  if (input != inputs) node.Reject("{} inputs and an equation of {} terms found", inputs, input);

  Shape shape;
  const auto add_ellipsis = [&] {
    if (axes.ellipsis) shape.insert(shape.end(), axes.ellipsis->begin(), axes.ellipsis->end());
  };
  if (arrow == std::string::npos) {
    add_ellipsis();
    for (const auto& [letter, times] : axes.uses)
      if (times == 1) shape.push_back(axes.letters[letter]);
  } else {
    VisitTerm(node, std::string_view(equation).substr(arrow + 2), [&](char c) {
      if (c == '.') return add_ellipsis();
      const auto known = axes.letters.find(c);
      if (known == axes.letters.end()) node.Reject("letter '{}' of the equation's result is in none of its terms", c);
      shape.push_back(known->second);
    });
  }
  node.SetTensor(0, node.element(0), shape);
}

}  // namespace epiphyte::core
