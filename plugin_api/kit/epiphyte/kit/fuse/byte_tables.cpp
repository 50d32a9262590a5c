#include "epiphyte/kit/fuse/byte_tables.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/graph/elements.hpp"

namespace epiphyte::kit::fuse {
namespace {

// Longer chains do not occur in networks.
constexpr size_t kMostSteps = 64;

class Fuser {
 public:
  Fuser(ir::Editor& editor, const ByteTableOptions& options) : editor_(editor), options_(options) {}

  void Run() {
    for (int32_t n = 0; n < editor_.node_count(); ++n) {
      if (editor_.removed(n)) continue;
      const ir::Node& node = editor_.node(n);
      if (node.domain == kDomain && node.op_type == kQLinearElementwise) Visit(n);
    }
  }

 private:
  struct End {
    float scale = 1;
    int64_t zero = 0;

    bool operator==(const End&) const = default;
  };
  // One operator with values as operands; -1 is parameter 0.
  struct Step {
    ElementwiseProgram::Instruction instruction;
    std::array<int32_t, 2> operands = {-1, -1};
    End y;
  };
  // A value that depends only on `root`, which is dequantised with `end`. The steps compute the value from `root`, in
  // order; each is named by the value that it makes.
  struct Chain {
    int32_t root = -1;
    End end;
    std::vector<int32_t> steps;
  };

  void Visit(int32_t n) {
    const ir::Node& node = editor_.node(n);
    const ElementwiseProgram program = ReadElementwiseProgram(node);
    const std::vector<float>& scales = node.Floats("scales");
    const std::vector<int64_t>& zeros = node.Ints("zero_points");
    const size_t operands = node.inputs.size();
    if (program.instructions.size() != 1 || operands > 2 || scales.size() != operands + 1 ||
        zeros.size() != operands + 1)
      return;
    const auto end = [&](size_t i) { return End{scales[i], zeros[i]}; };
    Step step;
    step.instruction = program.instructions[0];
    // A program of one instruction takes its operands in order.
    if (step.instruction.a != 0 || step.instruction.b != (operands == 2 ? 2 : -1)) return;
    step.y = end(operands);
    Chain chain;
    std::vector<int32_t> numbers;  // constant operands, each a single number
    for (size_t i = 0; i < operands; ++i) {
      const int32_t value = node.inputs[i];
      if (const std::optional<float> number = operands == 2 ? NumberOf(value, end(i)) : std::nullopt) {
        step.instruction.p0 = *number;
        numbers.push_back(value);
        continue;
      }
      step.operands[i] = value;
      const Chain of_operand = ChainOf(value, end(i));
      if (chain.root >= 0 && (chain.root != of_operand.root || !(chain.end == of_operand.end))) return;
      chain.root = of_operand.root;
      chain.end = of_operand.end;
      Append(of_operand.steps, chain.steps);
    }
    const auto enlarges = [&](int32_t number) { return editor_.info(number).rank > editor_.info(chain.root).rank; };
    if (chain.root < 0 || std::any_of(numbers.begin(), numbers.end(), enlarges)) return;
    const int32_t y = node.outputs[0];
    const bool is_table = operands == 1 && chain.steps.empty();
    chain.steps.push_back(y);
    if (chain.steps.size() > kMostSteps) return;
    steps_[y] = step;
    const bool has_bounds = HasAttribute(node, "low") || HasAttribute(node, "high");
    if (!is_table && !Place(n, chain)) return;
    if (!has_bounds) chains_[y] = std::move(chain);
  }

  static bool HasAttribute(const ir::Node& node, std::string_view name) {
    return std::any_of(node.attributes.begin(), node.attributes.end(),
                       [&](const ir::Attribute& attribute) { return attribute.name == name; });
  }

  // The chain of a value that is read with this quantisation.
  Chain ChainOf(int32_t value, const End& end) const {
    const auto known = chains_.find(value);
    return known != chains_.end() && steps_.at(value).y == end ? known->second : Chain{value, end, {}};
  }

  // The number that a constant of one byte represents.
  std::optional<float> NumberOf(int32_t value, const End& end) const {
    const ir::Tensor* const tensor = editor_.ConstantOf(value);
    double number = 0;
    if (tensor == nullptr || editor_.info(value).rank < 0 || tensor->Count() != 1 || !ir::NumberAt(*tensor, 0, &number))
      return {};
    return static_cast<float>(number - static_cast<double>(end.zero)) * end.scale;
  }

  static void Append(const std::vector<int32_t>& more, std::vector<int32_t>& steps) {
    for (const int32_t step : more)
      if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
  }

  bool Place(int32_t n, const Chain& chain) {
    ir::Node fused = editor_.node(n);
    std::erase_if(fused.attributes, [](const ir::Attribute& attribute) {
      constexpr std::array<std::string_view, 4> kReplaced = {"code", "parameters", "scales", "zero_points"};
      return std::find(kReplaced.begin(), kReplaced.end(), attribute.name) != kReplaced.end();
    });
    ElementwiseProgram program;
    std::vector<float> scales = {chain.end.scale};
    std::vector<int64_t> zeros = {chain.end.zero};
    for (const int32_t value : chain.steps) {
      const Step& step = steps_.at(value);
      const auto operand = [&](int32_t of) -> int32_t {
        if (of < 0) return -1;
        if (of == chain.root) return 0;
        const auto at = std::find(chain.steps.begin(), chain.steps.end(), of) - chain.steps.begin();
        return static_cast<int32_t>(2 * at + 1);
      };
      ElementwiseProgram::Instruction instruction = step.instruction;
      instruction.a = operand(step.operands[0]);
      instruction.b = operand(step.operands[1]);
      program.instructions.push_back(instruction);
      scales.push_back(step.y.scale);
      zeros.push_back(step.y.zero);
    }
    fused.inputs = {chain.root};
    WriteElementwiseProgram(program, fused);
    fused.attributes.push_back(ir::Attribute::Floats("scales", std::move(scales)));
    fused.attributes.push_back(ir::Attribute::Ints("zero_points", std::move(zeros)));
    if (options_.takes && !options_.takes(editor_, fused)) return false;
    editor_.Replace(n, std::move(fused));
    return true;
  }

  ir::Editor& editor_;
  const ByteTableOptions& options_;
  std::map<int32_t, Step> steps_;    // key: the value that the step makes
  std::map<int32_t, Chain> chains_;  // key: value
};

}  // namespace

void FuseByteTables(ir::Editor& editor, const ByteTableOptions& options) { Fuser(editor, options).Run(); }

}  // namespace epiphyte::kit::fuse
