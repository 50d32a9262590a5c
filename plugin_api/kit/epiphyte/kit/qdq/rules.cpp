#include "epiphyte/kit/qdq/rules.hpp"

#include <algorithm>
#include <array>

namespace epiphyte::kit::qdq {
namespace {

constexpr Rule Moves(std::string_view op, std::string_view inputs, std::string_view outputs = "y", int64_t since = 1) {
  return {op, inputs, outputs, WeightAxis::kNone, true, false, since};
}
constexpr Rule Computes(std::string_view op, std::string_view inputs, std::string_view outputs = "y") {
  return {op, inputs, outputs};
}
constexpr Rule Multiplies(std::string_view op, std::string_view inputs, std::string_view outputs, WeightAxis axis) {
  return {op, inputs, outputs, axis, false, true};
}
constexpr Rule Normalizes(std::string_view op, std::string_view inputs) { return {op, inputs, "y", WeightAxis::kAny}; }

// Sorted by name.
constexpr std::array kRules = {
    Computes("Abs", "x"),
    Computes("Acos", "x"),
    Computes("Add", "xx"),
    Computes("ArgMax", "x", "n"),
    Computes("ArgMin", "x", "n"),
    Computes("Asin", "x"),
    Computes("Atan", "x"),
    Computes("AveragePool", "x"),
    Rule{"BatchNormalization", "xwooo", "y", WeightAxis::kAny, false, true},
    Computes("Ceil", "x"),
    Computes("Clip", "xoo"),
    Computes("Concat", "x*"),
    Multiplies("Conv", "xwb", "y", WeightAxis::kFirst),
    Multiplies("ConvTranspose", "xwb", "y", WeightAxis::kSecond),
    Computes("Cos", "x"),
    Computes("CumSum", "xp"),
    Computes("DepthToSpace", "x"),
    Computes("Div", "xx"),
    Multiplies("Einsum", "xw*", "f", WeightAxis::kNone),
    Computes("Elu", "x"),
    Computes("Equal", "xx", "n"),
    Computes("Erf", "x"),
    Computes("Exp", "x"),
    Moves("Expand", "xp"),
    Moves("Flatten", "x"),
    Computes("Floor", "x"),
    Moves("Gather", "xp"),
    Moves("GatherElements", "xp"),
    Moves("GatherND", "xp"),
    Computes("Gelu", "x"),
    Multiplies("Gemm", "xwb", "f", WeightAxis::kColumns),
    Computes("GlobalAveragePool", "x"),
    Computes("GlobalMaxPool", "x"),
    Computes("Greater", "xx", "n"),
    Computes("GreaterOrEqual", "xx", "n"),
    Computes("GridSample", "xx"),
    Normalizes("GroupNormalization", "xwb"),
    Computes("HardSigmoid", "x"),
    Computes("HardSwish", "x"),
    Normalizes("InstanceNormalization", "xwb"),
    Computes("LRN", "x"),
    Normalizes("LayerNormalization", "xwb"),
    Computes("LeakyRelu", "x"),
    Computes("Less", "xx", "n"),
    Computes("LessOrEqual", "xx", "n"),
    Computes("Log", "x"),
    Computes("LogSoftmax", "x"),
    Computes("LpNormalization", "x"),
    Multiplies("MatMul", "xw", "f", WeightAxis::kColumns),
    Computes("Max", "x*"),
    Moves("MaxPool", "x", "y", 12),
    Computes("Mean", "x*"),
    Computes("Min", "x*"),
    Computes("Mish", "x"),
    Computes("Mul", "xx"),
    Computes("Neg", "x"),
    Computes("PRelu", "xx"),
    Computes("Pad", "xpvp"),
    Computes("Pow", "xx"),
    Normalizes("RMSNormalization", "xw"),
    Computes("Reciprocal", "x"),
    Computes("ReduceL1", "xp"),
    Computes("ReduceL2", "xp"),
    Computes("ReduceMax", "xp"),
    Computes("ReduceMean", "xp"),
    Computes("ReduceMin", "xp"),
    Computes("ReduceProd", "xp"),
    Computes("ReduceSum", "xp"),
    Computes("ReduceSumSquare", "xp"),
    Computes("Relu", "x"),
    Moves("Reshape", "xp"),
    Moves("Resize", "xppp"),
    Computes("Round", "x"),
    Computes("ScatterElements", "xpx"),
    Computes("ScatterND", "xpx"),
    Computes("Selu", "x"),
    Computes("Sigmoid", "x"),
    Computes("Sign", "x"),
    Computes("Sin", "x"),
    Computes("Slice", "xpppp"),
    Computes("Softmax", "x"),
    Computes("Softplus", "x"),
    Computes("SpaceToDepth", "x"),
    Computes("Split", "xp", "y*"),
    Computes("Sqrt", "x"),
    Moves("Squeeze", "xp"),
    Computes("Sub", "xx"),
    Computes("Sum", "x*"),
    Computes("Swish", "x"),
    Computes("Tan", "x"),
    Computes("Tanh", "x"),
    Moves("Tile", "xpp"),
    Moves("TopK", "xp", "yn"),
    Moves("Transpose", "x"),
    Moves("Unsqueeze", "xp"),
    Computes("Where", "pxx"),
};

constexpr bool ByName(const Rule& a, const Rule& b) { return a.op_type < b.op_type; }
static_assert(std::is_sorted(kRules.begin(), kRules.end(), ByName));

char LetterAt(std::string_view letters, size_t index) {
  if (letters.size() > 1 && letters.back() == '*') return letters[std::min(index, letters.size() - 2)];
  return index < letters.size() ? letters[index] : ' ';
}

}  // namespace

Input Rule::InputAt(size_t index) const { return static_cast<Input>(LetterAt(inputs, index)); }
Output Rule::OutputAt(size_t index) const { return static_cast<Output>(LetterAt(outputs, index)); }

const Rule* FindRule(const ir::Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto rule = std::lower_bound(kRules.begin(), kRules.end(), node.op_type,
                                     [](const Rule& a, const std::string& op_type) { return a.op_type < op_type; });
  return rule != kRules.end() && rule->op_type == node.op_type ? &*rule : nullptr;
}

int64_t ChannelAxis(const Rule& rule, const ir::Node& node, int32_t rank, int64_t asked) {
  switch (rule.axis) {
    case WeightAxis::kNone: return -1;
    case WeightAxis::kFirst: return 0;
    case WeightAxis::kSecond: return 1;
    case WeightAxis::kColumns:
      if (node.op_type == "Gemm") return node.Int("transB", 0) != 0 ? 0 : 1;
      return rank < 2 ? -1 : rank - 1;
    case WeightAxis::kAny: return asked;
  }
  return -1;
}

}  // namespace epiphyte::kit::qdq
