#include "epiphyte/kit/fuse/elementwise_program.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit::fuse {
namespace {

constexpr std::string_view kNames[] = {
    "Add",  "Sub",      "Mul",    "Div",  "Max",   "Min",       "Relu",       "Sigmoid",     "Tanh",
    "Neg",  "Abs",      "Sqrt",   "Exp",  "Log",   "Erf",       "Reciprocal", "Softplus",    "HardSwish",
    "Gelu", "GeluTanh", "Square", "Cube", "Swish", "LeakyRelu", "Elu",        "HardSigmoid", "Clip"};
static_assert(std::size(kNames) == static_cast<size_t>(ElementwiseOp::kCount));

[[noreturn]] void Refuse(const std::string& why) {
  throw Error(EP_STATUS_INVALID_GRAPH, "its element-wise program makes no sense: " + why);
}

}  // namespace

std::string_view NameOf(ElementwiseOp op) {
  const auto index = static_cast<size_t>(op);
  return index < std::size(kNames) ? kNames[index] : "?";
}

std::optional<ElementwiseOp> ElementwiseOpOf(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return {};
  return static_cast<ElementwiseOp>(found - std::begin(kNames));
}

ElementwiseProgram ReadElementwiseProgram(const ir::Node& node) {
  const std::vector<int64_t> code = node.Ints("code");
  const std::vector<float> parameters = node.Floats("parameters");
  const size_t count = code.size() / 3;
  const size_t inputs = node.inputs.size();
  if (inputs == 0 || inputs > kMostElementwiseInputs)
    Refuse("it has " + std::to_string(inputs) + " inputs; 1 to " + std::to_string(kMostElementwiseInputs) +
           " expected");
  if (std::any_of(node.inputs.begin(), node.inputs.end(), [](int32_t input) { return input < 0; }))
    Refuse("an input is left out");
  if (count == 0 || count > kMostElementwiseInstructions || code.size() % 3 != 0 || parameters.size() != count * 2)
    Refuse(std::to_string(code.size()) + " integers and " + std::to_string(parameters.size()) +
           " parameters found; 3 and 2 for each of 1 to " + std::to_string(kMostElementwiseInstructions) +
           " instructions expected");
  ElementwiseProgram program;
  program.instructions.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t* item = code.data() + i * 3;
    if (item[0] < 0 || item[0] >= static_cast<int64_t>(ElementwiseOp::kCount))
      Refuse("instruction " + std::to_string(i) + " has operation " + std::to_string(item[0]));
    const auto op = static_cast<ElementwiseOp>(item[0]);
    for (int operand = 1; operand <= 2; ++operand) {
      const int64_t reference = item[operand];
      const bool input = reference >= 0 && reference % 2 == 0 && reference / 2 < static_cast<int64_t>(inputs);
      const bool result = reference >= 0 && reference % 2 == 1 && reference / 2 < static_cast<int64_t>(i);
      const bool parameter = reference == -1 && (IsBinary(op) ? item[3 - operand] != -1 : operand == 2);
      const bool takes_value = IsBinary(op) || operand == 1;
      if (!parameter && !(takes_value && (input || result)))
        Refuse("operand " + std::to_string(operand - 1) + " of instruction " + std::to_string(i) + " is " +
               std::to_string(reference));
    }
    program.instructions.push_back(
        {op, static_cast<int32_t>(item[1]), static_cast<int32_t>(item[2]), parameters[i * 2], parameters[i * 2 + 1]});
  }
  return program;
}

void WriteElementwiseProgram(const ElementwiseProgram& program, ir::Node& node) {
  std::vector<int64_t> code;
  std::vector<float> parameters;
  for (const ElementwiseProgram::Instruction& instruction : program.instructions) {
    code.insert(code.end(), {static_cast<int64_t>(instruction.op), instruction.a, instruction.b});
    parameters.insert(parameters.end(), {instruction.p0, instruction.p1});
  }
  node.attributes.push_back(ir::Attribute::Ints("code", std::move(code)));
  node.attributes.push_back(ir::Attribute::Floats("parameters", std::move(parameters)));
}

}  // namespace epiphyte::kit::fuse
