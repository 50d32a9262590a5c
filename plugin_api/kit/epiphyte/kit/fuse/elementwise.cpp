#include "epiphyte/kit/fuse/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/operators.hpp"

namespace epiphyte::kit::fuse {
namespace {

using Instruction = ElementwiseProgram::Instruction;

struct Operator {
  std::string_view op_type;
  int64_t first_version;
  ElementwiseOp op;
};
constexpr Operator kOperators[] = {
    {"Add", 7, ElementwiseOp::kAdd},
    {"Sub", 7, ElementwiseOp::kSub},
    {"Mul", 7, ElementwiseOp::kMul},
    {"Div", 7, ElementwiseOp::kDiv},
    {"Max", 8, ElementwiseOp::kMax},
    {"Min", 8, ElementwiseOp::kMin},
    {"Relu", 1, ElementwiseOp::kRelu},
    {"Sigmoid", 1, ElementwiseOp::kSigmoid},
    {"Tanh", 1, ElementwiseOp::kTanh},
    {"Neg", 1, ElementwiseOp::kNeg},
    {"Abs", 1, ElementwiseOp::kAbs},
    {"Sqrt", 1, ElementwiseOp::kSqrt},
    {"Exp", 1, ElementwiseOp::kExp},
    {"Log", 1, ElementwiseOp::kLog},
    {"Erf", 9, ElementwiseOp::kErf},
    {"Reciprocal", 1, ElementwiseOp::kReciprocal},
    {"Softplus", 1, ElementwiseOp::kSoftplus},
    {"HardSwish", 14, ElementwiseOp::kHardSwish},
    {"LeakyRelu", 1, ElementwiseOp::kLeakyRelu},
    {"Elu", 1, ElementwiseOp::kElu},
    {"HardSigmoid", 1, ElementwiseOp::kHardSigmoid},
};

// True when a one-element operand does not give the result a higher rank than the other operands have.
bool ScalarKeepsRank(const ir::Editor& editor, int32_t value, const ir::Node& node) {
  int32_t most = 0;
  for (int32_t input : node.inputs)
    if (input != value && input >= 0) most = std::max(most, editor.info(input).rank);
  return editor.info(value).rank <= most;
}

std::optional<ElementwiseStep> ClipStep(const ir::Editor& editor, const ir::Node& node) {
  // A missing bound keeps infinities, as the operator does.
  constexpr float kMost = std::numeric_limits<float>::infinity();
  ElementwiseStep clip{ElementwiseOp::kClip, {node.inputs[0]}, node.Float("min", -kMost), node.Float("max", kMost)};
  if (node.HasInput(1) && !editor.Scalar(node.inputs[1], &clip.p0)) return {};
  if (node.HasInput(2) && !editor.Scalar(node.inputs[2], &clip.p1)) return {};
  if (std::isnan(clip.p0) || std::isnan(clip.p1)) return {};
  return clip;
}

std::optional<ElementwiseStep> PowStep(const ir::Editor& editor, const ir::Node& node) {
  float exponent = 0;
  if (node.since_version < 7 || !node.HasInput(1) || !editor.Scalar(node.inputs[1], &exponent) ||
      !ScalarKeepsRank(editor, node.inputs[1], node))
    return {};
  if (exponent == 2.0f) return ElementwiseStep{ElementwiseOp::kSquare, {node.inputs[0]}};
  if (exponent == 3.0f) return ElementwiseStep{ElementwiseOp::kCube, {node.inputs[0]}};
  if (exponent == 0.5f) return ElementwiseStep{ElementwiseOp::kSqrt, {node.inputs[0]}};
  return {};
}

// Converts node `n` without a check of its types; the caller checks these.
std::optional<ElementwiseStep> UntypedStep(const ir::Editor& editor, const ir::Node& node) {
  if (node.op_type == "Clip") return ClipStep(editor, node);
  if (node.op_type == "Pow") return PowStep(editor, node);
  if (node.op_type == "Gelu") {
    const bool tanh = node.String("approximate", "none") == "tanh";
    return ElementwiseStep{tanh ? ElementwiseOp::kGeluTanh : ElementwiseOp::kGelu, {node.inputs[0]}};
  }
  if (node.op_type == "Swish") {
    if (node.Float("alpha", 1.0f) != 1.0f) return {};
    return ElementwiseStep{ElementwiseOp::kSwish, {node.inputs[0]}};
  }
  for (const Operator& known : kOperators) {
    if (node.op_type != known.op_type || node.since_version < known.first_version) continue;
    if (node.inputs.size() != (IsBinary(known.op) ? 2u : 1u)) return {};
    ElementwiseStep step{known.op, node.inputs};
    if (known.op == ElementwiseOp::kLeakyRelu) step.p0 = node.Float("alpha", 0.01f);
    if (known.op == ElementwiseOp::kElu) step.p0 = node.Float("alpha", 1.0f);
    if (known.op == ElementwiseOp::kHardSigmoid) {
      step.p0 = node.Float("alpha", 0.2f);
      step.p1 = node.Float("beta", 0.5f);
    }
    return step;
  }
  return {};
}

class ElementwiseFuser {
 public:
  ElementwiseFuser(ir::Editor& editor, const ElementwiseOptions& options)
      : editor_(editor),
        options_(options),
        most_inputs_(std::min(options.most_inputs, kMostElementwiseInputs)),
        most_instructions_(std::min(options.most_instructions, kMostElementwiseInstructions)) {}

  void Run() {
    const int32_t count = editor_.node_count();
    candidates_.resize(static_cast<size_t>(count));
    absorbed_.assign(static_cast<size_t>(count), false);
    for (int32_t n = 0; n < count; ++n)
      if (!editor_.removed(n)) candidates_[Index(n)] = Classify(n);
    for (int32_t n = 0; n < count; ++n)
      if (candidates_[Index(n)]) absorbed_[Index(n)] = Taker(n) >= 0;
    std::vector<int32_t> roots;
    for (int32_t n = 0; n < count; ++n)
      if (candidates_[Index(n)] && !editor_.removed(n) && !absorbed_[Index(n)]) roots.push_back(n);
    while (!roots.empty()) {
      const int32_t root = roots.back();
      roots.pop_back();
      Emit(root, roots);
    }
  }

 private:
  static size_t Index(int32_t n) { return static_cast<size_t>(n); }

  std::optional<ElementwiseStep> Classify(int32_t n) const {
    std::optional<ElementwiseStep> step = ElementwiseStepOf(editor_, n);
    if (!step || editor_.node(n).outputs.size() != 1) return {};
    const ir::Value& y = editor_.info(editor_.node(n).outputs[0]);
    const bool type = options_.takes_type ? options_.takes_type(y.type) : y.type == EP_TYPE_FLOAT;
    if (!type || y.rank < 0 || (options_.takes && !options_.takes(step->op))) return {};
    return step;
  }

  // The candidate that could take in node `n`, if it is the only reader of n's output.
  int32_t Taker(int32_t n) const {
    const int32_t output = editor_.node(n).outputs[0];
    const std::vector<int32_t>& readers = editor_.Readers(output);
    if (readers.empty() || editor_.IsOutput(output)) return -1;
    for (int32_t reader : readers)
      if (reader != readers[0]) return -1;
    const int32_t reader = readers[0];
    if (!candidates_[Index(reader)]) return -1;
    const ir::Value& from = editor_.info(output);
    const ir::Value& to = editor_.info(editor_.node(reader).outputs[0]);
    return from.rank == to.rank && from.dims == to.dims ? reader : -1;
  }

  // Writes the tree that ends at node `root`. A member that would make it too large becomes the root of another tree.
  void Emit(int32_t root, std::vector<int32_t>& roots) {
    struct Step {
      int32_t node;
      bool done;
    };
    std::vector<int32_t> inputs;
    std::vector<Instruction> code;
    std::unordered_map<int32_t, int32_t> results;  // key: value; mapped: the instruction that makes it
    std::vector<int32_t> order;                    // members, operands first
    std::vector<int32_t> deferred;
    size_t leaves = 0;
    size_t pending = 1;  // members on the stack with unseen operands; each has at least one leaf
    // Depth first without recursion, because a chain may be long.
    std::vector<Step> stack = {{root, false}};
    while (!stack.empty()) {
      Step& step = stack.back();
      if (step.done) {
        order.push_back(step.node);
        stack.pop_back();
        continue;
      }
      step.done = true;
      --pending;
      const int32_t node = step.node;
      for (int32_t operand : candidates_[Index(node)]->operands) {
        const int32_t producer = editor_.Producer(operand);
        if (producer >= 0 && absorbed_[Index(producer)] && candidates_[Index(producer)] && Taker(producer) == node) {
          const bool fits = order.size() + stack.size() < most_instructions_ && leaves + pending + 3 <= most_inputs_;
          const bool queued =
              std::any_of(stack.begin(), stack.end(), [&](const Step& s) { return s.node == producer; }) ||
              std::find(deferred.begin(), deferred.end(), producer) != deferred.end();
          if (queued) continue;
          if (fits) {
            stack.push_back({producer, false});
            ++pending;
          } else {
            deferred.push_back(producer);
            absorbed_[Index(producer)] = false;
            ++leaves;
          }
        } else {
          float scalar = 0;
          if (!editor_.Scalar(operand, &scalar)) ++leaves;
        }
      }
    }

    for (int32_t member : order) {
      const ElementwiseStep& candidate = *candidates_[Index(member)];
      Instruction instruction{candidate.op, -1, -1, candidate.p0, candidate.p1};
      int32_t* const places[] = {&instruction.a, &instruction.b};
      bool parameter_used = !IsBinary(candidate.op);
      for (size_t i = 0; i < candidate.operands.size(); ++i) {
        const int32_t value = candidate.operands[i];
        const auto known = results.find(value);
        float scalar = 0;
        if (known != results.end()) {
          *places[i] = known->second * 2 + 1;
        } else if (!parameter_used && editor_.Scalar(value, &scalar) &&
                   ScalarKeepsRank(editor_, value, editor_.node(member))) {
          instruction.p0 = scalar;
          parameter_used = true;
        } else {
          auto input = std::find(inputs.begin(), inputs.end(), value);
          if (input == inputs.end()) input = inputs.insert(inputs.end(), value);
          *places[i] = static_cast<int32_t>(input - inputs.begin()) * 2;
        }
      }
      results.emplace(editor_.node(member).outputs[0], static_cast<int32_t>(code.size()));
      code.push_back(instruction);
    }
    const bool worth = order.size() > 1 || (options_.alone && options_.alone(editor_, root));
    if (worth && inputs.size() <= most_inputs_ && !inputs.empty())
      editor_.Replace(root, MakeNode(root, std::move(inputs), std::move(code)));
    roots.insert(roots.end(), deferred.begin(), deferred.end());
  }

  ir::Node MakeNode(int32_t root, std::vector<int32_t> inputs, std::vector<Instruction> code) const {
    ir::Node node;
    node.op_type = kElementwise;
    node.domain = kDomain;
    node.name = editor_.node(root).name;
    node.inputs = std::move(inputs);
    node.outputs = editor_.node(root).outputs;
    WriteElementwiseProgram({std::move(code)}, node);
    return node;
  }

  ir::Editor& editor_;
  const ElementwiseOptions& options_;
  size_t most_inputs_;
  size_t most_instructions_;
  std::vector<std::optional<ElementwiseStep>> candidates_;
  std::vector<bool> absorbed_;
};

}  // namespace

std::optional<ElementwiseStep> ElementwiseStepOf(const ir::Editor& editor, int32_t n) {
  if (n < 0 || editor.removed(n)) return {};
  const ir::Node& node = editor.node(n);
  if (!node.domain.empty() || !node.HasInput(0) || !node.HasOutput(0)) return {};
  const EpElementType type = editor.info(node.outputs[0]).type;
  if (!IsFloatType(type)) return {};
  const size_t typed = node.op_type == "Pow" ? 1 : node.inputs.size();
  for (size_t i = 0; i < typed; ++i)
    if (node.inputs[i] >= 0 && editor.info(node.inputs[i]).type != type) return {};
  std::optional<ElementwiseStep> step = UntypedStep(editor, node);
  if (step && std::any_of(step->operands.begin(), step->operands.end(), [](int32_t value) { return value < 0; }))
    return {};
  return step;
}

void FuseElementwise(ir::Editor& editor, const ElementwiseOptions& options) { ElementwiseFuser(editor, options).Run(); }

}  // namespace epiphyte::kit::fuse
