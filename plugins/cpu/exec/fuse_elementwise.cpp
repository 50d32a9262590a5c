// Joins trees of element-wise float operators into one node each; see elementwise_program.h.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "plugins/cpu/exec/plan_editor.h"
#include "plugins/cpu/kernel/elementwise_program.h"

namespace epiphyte::cpu {
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

// A node as an instruction whose operands are still value indices.
struct Candidate {
  ElementwiseOp op;
  std::vector<int32_t> operands;
  float p0 = 0;
  float p1 = 0;
};

class ElementwiseFuser {
 public:
  explicit ElementwiseFuser(PlanEditor& editor)
      : editor_(editor), may_have_layout_(editor.graph().values.size(), false) {}

  void Run() {
    const int32_t count = editor_.node_count();
    candidates_.resize(count);
    absorbed_.assign(count, false);
    for (int32_t n = 0; n < count; ++n) {
      if (editor_.removed(n)) continue;
      candidates_[n] = Classify(n);
      NoteLayout(n);
    }
    for (int32_t n = 0; n < count; ++n)
      if (candidates_[n]) MarkAbsorbed(n);
    std::vector<int32_t> roots;
    for (int32_t n = 0; n < count; ++n)
      if (candidates_[n] && !editor_.removed(n) && !absorbed_[n]) roots.push_back(n);
    while (!roots.empty()) {
      const int32_t root = roots.back();
      roots.pop_back();
      Emit(root, roots);
    }
  }

 private:
  std::optional<Candidate> Classify(int32_t n) const {
    const NodeDef& node = editor_.node(n);
    if (!node.domain.empty() || node.inputs.empty() || node.outputs.size() != 1) return {};
    for (int32_t input : node.inputs)
      if (input >= 0 && !editor_.IsFloat(input)) return {};
    if (node.inputs[0] < 0 || !editor_.IsFloat(node.outputs[0]) || editor_.info(node.outputs[0]).rank < 0) return {};
    if (node.op_type == "Clip") return ClassifyClip(node);
    if (node.op_type == "Pow") return ClassifyPow(node);
    if (node.op_type == "Gelu")
      return Candidate{node.String("approximate", "none") == "tanh" ? ElementwiseOp::kGeluTanh : ElementwiseOp::kGelu,
                       {node.inputs[0]}};
    for (const Operator& known : kOperators) {
      if (node.op_type != known.op_type || node.since_version < known.first_version) continue;
      if (node.inputs.size() != (IsBinary(known.op) ? 2u : 1u)) return {};
      Candidate candidate{known.op, node.inputs};
      if (known.op == ElementwiseOp::kLeakyRelu) candidate.p0 = node.Float("alpha", 0.01f);
      if (known.op == ElementwiseOp::kElu) candidate.p0 = node.Float("alpha", 1.0f);
      if (known.op == ElementwiseOp::kHardSigmoid) {
        candidate.p0 = node.Float("alpha", 0.2f);
        candidate.p1 = node.Float("beta", 0.5f);
      }
      return candidate;
    }
    return {};
  }

  std::optional<Candidate> ClassifyClip(const NodeDef& node) const {
    Candidate clip{
        ElementwiseOp::kClip, {node.inputs[0]}, node.Float("min", -3.4028234e38f), node.Float("max", 3.4028234e38f)};
    if (node.inputs.size() > 1 && node.inputs[1] >= 0 && !editor_.Scalar(node.inputs[1], &clip.p0)) return {};
    if (node.inputs.size() > 2 && node.inputs[2] >= 0 && !editor_.Scalar(node.inputs[2], &clip.p1)) return {};
    return clip;
  }

  std::optional<Candidate> ClassifyPow(const NodeDef& node) const {
    float exponent = 0;
    if (node.since_version < 7 || !editor_.Scalar(node.inputs[1], &exponent) || !ScalarKeepsRank(node.inputs[1], node))
      return {};
    if (exponent == 2.0f) return Candidate{ElementwiseOp::kSquare, {node.inputs[0]}};
    if (exponent == 3.0f) return Candidate{ElementwiseOp::kCube, {node.inputs[0]}};
    if (exponent == 0.5f) return Candidate{ElementwiseOp::kSqrt, {node.inputs[0]}};
    return {};
  }

  // True when a one-element operand doesn't give the result a higher rank than the others have.
  bool ScalarKeepsRank(int32_t value, const NodeDef& node) const {
    int32_t most = 0;
    for (int32_t input : node.inputs)
      if (input != value) most = std::max(most, editor_.info(input).rank);
    return editor_.info(value).rank <= most;
  }

  void NoteLayout(int32_t n) {
    const NodeDef& node = editor_.node(n);
    bool layout = node.op_type == "Conv" || node.op_type == "MaxPool" || node.op_type == "AveragePool";
    if (candidates_[n] || node.op_type == "BatchNormalization" || node.op_type == "Concat")
      for (int32_t input : node.inputs) layout = layout || (input >= 0 && may_have_layout_[input]);
    for (int32_t output : node.outputs)
      if (output >= 0) may_have_layout_[output] = layout;
  }

  // The one candidate that could take node n in, when all readers of its output are that node.
  int32_t Taker(int32_t n) const {
    const int32_t output = editor_.node(n).outputs[0];
    const std::vector<int32_t>& readers = editor_.Readers(output);
    if (readers.empty() || editor_.IsOutput(output)) return -1;
    for (int32_t reader : readers)
      if (reader != readers[0]) return -1;
    const int32_t reader = readers[0];
    if (!candidates_[reader]) return -1;
    const ValueInfo& from = editor_.info(output);
    const ValueInfo& to = editor_.info(editor_.node(reader).outputs[0]);
    return from.rank == to.rank && from.dims == to.dims ? reader : -1;
  }
  void MarkAbsorbed(int32_t n) { absorbed_[n] = Taker(n) >= 0; }

  // Writes the tree under node `root`. A member that would make it too large becomes the root of another tree.
  void Emit(int32_t root, std::vector<int32_t>& roots) {
    struct Step {
      int32_t node;
      bool done;
    };
    std::vector<int32_t> inputs;
    std::vector<Instruction> code;
    std::unordered_map<int32_t, int32_t> results;  // value -> instruction
    std::vector<int32_t> order;                    // members, operands first
    std::vector<int32_t> deferred;
    size_t leaves = 0;
    size_t pending = 1;  // members on the stack whose operands weren't looked at; each has a leaf at least
    // Depth first without recursion; a chain may be long.
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
      for (int32_t operand : candidates_[node]->operands) {
        const int32_t producer = editor_.Producer(operand);
        if (producer >= 0 && absorbed_[producer] && candidates_[producer] && Taker(producer) == node) {
          const bool fits = order.size() + stack.size() < kMostElementwiseInstructions &&
                            leaves + pending + 3 <= kMostElementwiseInputs;
          const bool queued =
              std::any_of(stack.begin(), stack.end(), [&](const Step& s) { return s.node == producer; }) ||
              std::find(deferred.begin(), deferred.end(), producer) != deferred.end();
          if (queued) continue;
          if (fits) {
            stack.push_back({producer, false});
            ++pending;
          } else {
            deferred.push_back(producer);
            absorbed_[producer] = false;
            ++leaves;
          }
        } else {
          float scalar = 0;
          if (!editor_.Scalar(operand, &scalar)) ++leaves;
        }
      }
    }

    bool layout = false;
    for (int32_t member : order) {
      const Candidate& candidate = *candidates_[member];
      Instruction instruction{candidate.op, -1, -1, candidate.p0, candidate.p1};
      int32_t* const places[] = {&instruction.a, &instruction.b};
      bool parameter_used = !IsBinary(candidate.op);
      for (size_t i = 0; i < candidate.operands.size(); ++i) {
        const int32_t value = candidate.operands[i];
        layout = layout || may_have_layout_[value];
        const auto known = results.find(value);
        float scalar = 0;
        if (known != results.end()) {
          *places[i] = known->second * 2 + 1;
        } else if (!parameter_used && editor_.Scalar(value, &scalar) && ScalarKeepsRank(value, editor_.node(member))) {
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
    // A single operator has its own kernel, which is as fast on row-major data.
    if ((order.size() > 1 || layout) && inputs.size() <= kMostElementwiseInputs && !inputs.empty())
      editor_.Replace(root, MakeNode(root, inputs, code));
    roots.insert(roots.end(), deferred.begin(), deferred.end());
  }

  NodeDef MakeNode(int32_t root, const std::vector<int32_t>& inputs, const std::vector<Instruction>& code) const {
    NodeDef node;
    node.op_type = "Elementwise";
    node.domain = kFusedDomain;
    node.name = editor_.node(root).name;
    node.inputs = inputs;
    node.outputs = editor_.node(root).outputs;
    std::vector<int64_t> ints;
    std::vector<float> parameters;
    for (const Instruction& instruction : code) {
      ints.insert(ints.end(), {static_cast<int64_t>(instruction.op), instruction.a, instruction.b});
      parameters.insert(parameters.end(), {instruction.p0, instruction.p1});
    }
    node.attributes.push_back(IntsAttribute("code", std::move(ints)));
    node.attributes.push_back(FloatsAttribute("parameters", std::move(parameters)));
    return node;
  }

  PlanEditor& editor_;
  std::vector<std::optional<Candidate>> candidates_;
  std::vector<bool> absorbed_;
  std::vector<bool> may_have_layout_;  // by value: a kernel may leave it in oneDNN's layout
};

}  // namespace

void FuseElementwise(PlanEditor& editor) { ElementwiseFuser(editor).Run(); }

}  // namespace epiphyte::cpu
