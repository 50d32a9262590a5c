// LayerNormalization recognition: (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axes, written out
// as arithmetic, becomes the operator of opset 17.
#include <algorithm>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

constexpr int64_t kVersion = 17;

// The first axis, counted from the end, that a ReduceMean with kept dimensions reduces, when it reduces all from there
// on. `rank` is that of its input.
std::optional<int64_t> FirstReducedAxis(const Node& mean, std::optional<size_t> rank) {
  auto axes = Axes(mean, 1);
  if (!axes || axes->empty() || mean.IntAttribute("keepdims", 1) != 1) return std::nullopt;
  if (*axes == std::vector<int64_t>{-1}) return -1;
  if (!rank) return std::nullopt;
  for (int64_t& axis : *axes) axis += axis < 0 ? static_cast<int64_t>(*rank) : 0;
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != static_cast<int64_t>(*rank - axes->size() + i)) return std::nullopt;
  }
  return -static_cast<int64_t>(axes->size());
}

struct Match {
  ValueDef* x = nullptr;
  int64_t axis = -1;
  double epsilon = 0;
};

bool IsSquareOf(const ValueDef* value, const ValueDef* deviation) {
  if (const Node* pow = ProducedBy(value, "Pow")) {
    return pow->input(0) == deviation && UniformValue(ConstantInput(*pow, 1)) == 2.0;
  }
  const Node* mul = ProducedBy(value, "Mul");
  return mul != nullptr && mul->input(0) == deviation && mul->input(1) == deviation;
}

// `division` is (x - mean) / sqrt(mean of squares + epsilon).
std::optional<Match> MatchNormalization(const Node& division) {
  const Node* deviation = ProducedBy(division.input(0), "Sub");
  const Node* root = ProducedBy(division.input(1), "Sqrt");
  const Node* sum = root != nullptr ? ProducedBy(root->input(0), "Add") : nullptr;
  if (deviation == nullptr || sum == nullptr) return std::nullopt;
  const size_t epsilon_index = ConstantInput(*sum, 0) != nullptr ? 0 : 1;
  const auto epsilon = UniformValue(ConstantInput(*sum, epsilon_index));
  const Node* variance = ProducedBy(sum->input(1 - epsilon_index), "ReduceMean");
  const Node* mean = ProducedBy(deviation->input(1), "ReduceMean");
  if (!epsilon || ConstantInput(*sum, epsilon_index)->element_count() != 1) return std::nullopt;
  if (variance == nullptr || mean == nullptr || mean->input(0) != deviation->input(0)) return std::nullopt;
  if (!IsSquareOf(variance->input(0), division.input(0))) return std::nullopt;
  const auto rank = Rank(deviation->input(0));
  const auto axis = FirstReducedAxis(*mean, rank);
  if (!axis || axis != FirstReducedAxis(*variance, rank)) return std::nullopt;
  return Match{deviation->input(0), *axis, *epsilon};
}

// A constant with exactly the normalized dimensions.
bool HasNormalizedShape(const ValueDef* value, const Match& match) {
  const Constant* constant = value == nullptr ? nullptr : value->ResolvedConstant().get();
  const auto rank = Rank(match.x);
  const auto count = static_cast<size_t>(-match.axis);
  if (constant == nullptr || !rank || *rank < count || constant->dims().size() != count) return false;
  for (size_t i = 0; i < count; ++i) {
    if ((*match.x->type()->shape())[*rank - count + i] != Dim(constant->dims()[i])) return false;
  }
  return constant->type() == ElementType(match.x);
}

class RecognizeLayerNormalization final : public BasicRule {
 public:
  RecognizeLayerNormalization() : BasicRule("RecognizeLayerNormalization", {"Mul"}, TransformLevel::kExtended) {}

  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    if (graph.Opset("") < kVersion) return false;
    for (const size_t index : {size_t{0}, size_t{1}}) {
      const Node* division = ProducedBy(node.input(index), "Div");
      if (division == nullptr || !HasSingleUse(node.input(index))) continue;
      const auto match = MatchNormalization(*division);
      // The operator computes in float: that is what a float graph did, and less than a double one did.
      if (!match || ElementType(match->x) != DataType::kFloat) continue;
      if (!HasNormalizedShape(node.input(1 - index), *match)) continue;
      Replace(graph, node, *match, node.input(1 - index));
      return true;
    }
    return false;
  }

 private:
  static void Replace(Graph& graph, Node& scaling, const Match& match, ValueDef* scale) {
    ValueDef* output = scaling.output(0);
    std::vector<ValueDef*> inputs = {match.x, scale};
    std::string name = scaling.name();
    Node* add = HasSingleUse(output) ? output->consumers()[0] : nullptr;
    graph.RemoveNode(&scaling);
    if (add != nullptr && add->Is("Add")) {
      ValueDef* bias = add->input(add->input(0) == output ? 1 : 0);
      if (HasNormalizedShape(bias, match)) {
        ValueDef* sum = add->output(0);
        inputs.push_back(bias);
        graph.RemoveNode(add);
        graph.RemoveValue(output);
        output = sum;
      }
    }
    std::vector<Attribute> attributes;
    attributes.push_back(Attribute::Int("axis", match.axis));
    attributes.push_back(Attribute::Float("epsilon", static_cast<float>(match.epsilon)));
    graph.AddNode("LayerNormalization", "", kVersion, std::move(inputs), {output}, std::move(attributes),
                  std::move(name));
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeRecognizeLayerNormalization() {
  return std::make_unique<RecognizeLayerNormalization>();
}

}  // namespace epiphyte::core
