#include "tests/device/plugin/translate.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace epiphyte::test::device {
namespace {

// Returns the index of the operator; kOpNames.size() if it isn't supported.
size_t IndexOf(std::string_view op_type) {
  return static_cast<size_t>(std::find(kOpNames.begin(), kOpNames.end(), op_type) - kOpNames.begin());
}

bool HasRank(const kit::ValueView& value, size_t least) { return value.has_rank() && value.dims().size() >= least; }

std::string WhyNoScatter(const kit::NodeView& node) {
  if (node.String("mode", "linear") != "linear") return "mode 'linear' alone";
  if (!HasRank(node.input(0), 3)) return "a cache of known rank, at least 3, alone";
  const int64_t axis = node.Int("axis", -2);
  if (axis != -2 && axis != static_cast<int64_t>(node.input(0).dims().size()) - 2) return "the second last axis alone";
  const kit::ValueView indices = node.input(2);
  if (indices && indices.element_type() != EP_TYPE_INT64) return "write indices of int64 alone";
  return "";
}

ConstantTensor CopyOf(const EpTensorView& view) {
  ConstantTensor constant = {view.element_type, {view.dims, view.dims + view.rank}, {}};
  constant.data.resize(static_cast<size_t>(view.byte_size));
  if (!constant.data.empty()) std::memcpy(constant.data.data(), view.data, constant.data.size());
  return constant;
}

}  // namespace

std::string WhyNot(const kit::NodeView& node) {
  const size_t index = IndexOf(node.op_type());
  if (!node.domain().empty() || index == kOpNames.size()) return "no operator of the test device";
  const Op op = static_cast<Op>(index);
  const bool is_scatter = op == Op::kTensorScatter;
  for (size_t i = 0; i < node.input_count() && !(is_scatter && i == 2); ++i) {
    if (node.input(i).element_type() != EP_TYPE_FLOAT) return "float alone";
  }
  if (node.output(0).element_type() != EP_TYPE_FLOAT) return "float alone";
  const bool is_binary = op == Op::kAdd || op == Op::kSub || op == Op::kMul;
  if (is_binary && node.since_version() < 7) return "opset 7 and later alone";
  if (op == Op::kMatMul && !(HasRank(node.input(0), 2) && HasRank(node.input(1), 2))) {
    return "factors of known rank, at least 2, alone";
  }
  return is_scatter ? WhyNoScatter(node) : "";
}

Program Translate(const kit::GraphView& graph, std::string name) {
  Program program;
  program.name = std::move(name);
  std::map<const EpValueDef*, uint32_t> numbers;
  for (const kit::ValueView& input : graph.inputs()) {
    numbers.emplace(input.handle(), static_cast<uint32_t>(program.inputs.size()));
    program.inputs.push_back(input.element_type());
  }
  const std::vector<kit::NodeView> nodes = graph.nodes();
  const auto add_constant = [&](const kit::ValueView& value) {
    if (!value || value.constant() == nullptr) return;
    const auto number = static_cast<uint32_t>(program.inputs.size() + program.constants.size());
    if (numbers.emplace(value.handle(), number).second) program.constants.push_back(CopyOf(*value.constant()));
  };
  for (const kit::NodeView& node : nodes) {
    for (size_t i = 0; i < node.input_count(); ++i) add_constant(node.input(i));
  }
  for (const kit::ValueView& output : graph.outputs()) add_constant(output);
  for (const kit::NodeView& node : nodes) {
    Step step;
    step.op = static_cast<Op>(IndexOf(node.op_type()));
    for (size_t i = 0; i < std::min(node.input_count(), step.inputs.size()); ++i) {
      if (node.input(i)) step.inputs[i] = numbers.at(node.input(i).handle());
    }
    numbers.emplace(node.output(0).handle(), program.ValueCount());
    program.steps.push_back(step);
  }
  std::set<uint32_t> seen;
  for (const kit::ValueView& output : graph.outputs()) {
    uint32_t number = numbers.at(output.handle());
    // An output is copied if no step makes the value, or if the value is an output already.
    if (number < program.FirstStep() || seen.contains(number)) {
      const uint32_t copy = program.ValueCount();
      program.steps.push_back({Op::kIdentity, {number, kAbsent, kAbsent}});
      number = copy;
    }
    seen.insert(number);
    program.outputs.push_back(number);
  }
  program.Check();
  return program;
}

}  // namespace epiphyte::test::device
