#include "plugins/npu/graph/quantized_op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "epiphyte/kit/graph/elements.hpp"

namespace epiphyte::npu {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

// Input layout of an integer operator. Each operand has three consecutive inputs (numbers, scale, zero point), given by
// the index of the first. The result has scale and zero point.
struct IntegerOperator {
  std::string_view op_type;
  std::string_view domain;
  std::string_view op;             // float operator that it computes
  std::array<int8_t, 2> operands;  // first input of each operand; -1: none
  int8_t result;                   // the input with the result's scale
  int8_t bias;                     // the input with the bias; -1: none
};
constexpr IntegerOperator kIntegerOperators[] = {
    {"QLinearConv", "", "Conv", {0, 3}, 6, 8},
    {"QLinearMatMul", "", "MatMul", {0, 3}, 6, -1},
    {"QLinearAdd", kMicrosoft, "Add", {0, 3}, 6, -1},
    {"QLinearMul", kMicrosoft, "Mul", {0, 3}, 6, -1},
    {"QLinearSigmoid", kMicrosoft, "Sigmoid", {0, -1}, 3, -1},
    {"QLinearLeakyRelu", kMicrosoft, "LeakyRelu", {0, -1}, 3, -1},
    {"QLinearAveragePool", kMicrosoft, "AveragePool", {0, -1}, 3, -1},
    {"QLinearGlobalAveragePool", kMicrosoft, "GlobalAveragePool", {0, -1}, 3, -1},
};

// Operators that move bytes and have no scale.
constexpr std::string_view kDataMovementOps[] = {"Concat", "Flatten", "Identity", "MaxPool",   "Reshape",
                                                 "Slice",  "Split",   "Squeeze",  "Transpose", "Unsqueeze"};

bool IsMover(const ir::Node& node) {
  return node.domain.empty() && std::ranges::find(kDataMovementOps, node.op_type) != std::end(kDataMovementOps);
}
bool IsByte(EpElementType type) { return type == EP_TYPE_INT8 || type == EP_TYPE_UINT8; }

// A scale of 1, for numbers without a scale.
ir::Tensor One() {
  static constexpr float kOne = 1;
  ir::Tensor tensor;
  tensor.type = EP_TYPE_FLOAT;
  tensor.data = &kOne;
  return tensor;
}

// The quantisation of plain stored numbers.
qdq::Quantization Plain(EpElementType type) {
  qdq::Quantization plain;
  plain.type = type;
  plain.scale = One();
  return plain;
}

const ir::Tensor* Parameter(const ir::Editor& editor, int32_t value, const char* what, std::string* why) {
  const ir::Tensor* tensor = ir::ElementsOf(editor.graph(), value);
  if (tensor == nullptr) *why = std::string("its ") + what + " '" + editor.info(value).name + "' isn't a constant";
  return tensor;
}

// Quantisation from scale and zero point inputs of a node. A `scale` of -1 stands for 1.
std::optional<qdq::Quantization> ReadAsInputs(const ir::Editor& editor, EpElementType type, int32_t scale, int32_t zero,
                                              int64_t axis, std::string* why) {
  qdq::Quantization read = Plain(type);
  if (scale >= 0) {
    const ir::Tensor* tensor = Parameter(editor, scale, "scale", why);
    if (tensor == nullptr) return {};
    read.scale = *tensor;
    for (size_t i = 0; i < read.Count(); ++i)
      if (tensor->type != EP_TYPE_FLOAT || !(read.Scale(i) > 0) || !std::isfinite(read.Scale(i))) {
        *why = "its scale '" + editor.info(scale).name + "' holds what is no positive float";
        return {};
      }
  }
  if (zero >= 0) {
    const ir::Tensor* tensor = Parameter(editor, zero, "zero point", why);
    if (tensor == nullptr) return {};
    if (tensor->type != type || (tensor->Count() != 1 && tensor->Count() != read.scale.Count())) {
      *why = "its zero point '" + editor.info(zero).name + "' doesn't fit its numbers and scales";
      return {};
    }
    read.zero_point = *tensor;
  }
  if (read.Count() != 1) read.axis = axis;
  return read;
}

int32_t InputOf(const ir::Node& node, int index) {
  return index >= 0 && node.HasInput(static_cast<size_t>(index)) ? node.inputs[static_cast<size_t>(index)] : -1;
}

// The axis of per-channel scales of weights.
int64_t WeightAxis(const ir::Editor& editor, std::string_view op, int32_t weights) {
  return op == "Conv" ? 0 : std::max(editor.info(weights).rank - 1, 0);
}

bool AddOperand(const ir::Editor& editor, QuantizedOp* work, int32_t numbers, int32_t scale, int32_t zero,
                std::string* why) {
  if (numbers < 0) {
    *why = "an input of it is left out";
    return false;
  }
  auto read = ReadAsInputs(editor, editor.info(numbers).type, scale, zero, WeightAxis(editor, work->op, numbers), why);
  if (!read) return false;
  work->inputs.push_back({numbers, std::move(read)});
  return true;
}

std::optional<QuantizedOp> FromQLinear(const ir::Editor& editor, const IntegerOperator& found, int32_t n,
                                       std::string* why) {
  const ir::Node& node = editor.node(n);
  QuantizedOp work;
  work.op = found.op;
  work.version = found.domain.empty() ? 11 : 1;
  work.node = n;
  work.nodes = {n};
  for (const int8_t operand : found.operands)
    if (operand >= 0 &&
        !AddOperand(editor, &work, InputOf(node, operand), InputOf(node, operand + 1), InputOf(node, operand + 2), why))
      return {};
  if (const int32_t bias = InputOf(node, found.bias); bias >= 0) work.inputs.push_back({bias, {}});
  if (!node.HasOutput(0)) {
    *why = "its output is left out";
    return {};
  }
  auto result = ReadAsInputs(editor, editor.info(node.outputs[0]).type, InputOf(node, found.result),
                             InputOf(node, found.result + 1), -1, why);
  if (!result) return {};
  work.outputs = {{node.outputs[0], std::move(result)}};
  return work;
}

// QLinearConcat of com.microsoft: scale and zero point of y, then three inputs for each tensor.
std::optional<QuantizedOp> OpOfConcat(const ir::Editor& editor, int32_t n, std::string* why) {
  const ir::Node& node = editor.node(n);
  QuantizedOp work;
  work.op = "Concat";
  work.version = 13;
  work.node = n;
  work.nodes = {n};
  for (size_t i = 2; i + 2 < node.inputs.size(); i += 3)
    if (!AddOperand(editor, &work, node.inputs[i], node.inputs[i + 1], node.inputs[i + 2], why)) return {};
  auto result = ReadAsInputs(editor, editor.info(node.outputs[0]).type, InputOf(node, 0), InputOf(node, 1), -1, why);
  if (!result) return {};
  work.outputs = {{node.outputs[0], std::move(result)}};
  return work;
}

// ConvInteger and MatMulInteger; the result is the plain sums.
std::optional<QuantizedOp> OpOfSums(const ir::Editor& editor, int32_t n, std::string* why) {
  const ir::Node& node = editor.node(n);
  QuantizedOp work;
  work.op = node.op_type == "ConvInteger" ? "Conv" : "MatMul";
  work.version = 11;
  work.node = n;
  work.nodes = {n};
  if (!AddOperand(editor, &work, InputOf(node, 0), -1, InputOf(node, 2), why) ||
      !AddOperand(editor, &work, InputOf(node, 1), -1, InputOf(node, 3), why))
    return {};
  work.outputs = {{node.outputs[0], Plain(EP_TYPE_INT32)}};
  return work;
}

std::optional<QuantizedOp> OpOfMove(const ir::Editor& editor, const Meanings& meanings, int32_t n, std::string* why) {
  const ir::Node& node = editor.node(n);
  QuantizedOp work;
  work.op = node.op_type;
  work.version = node.since_version;
  work.node = n;
  work.nodes = {n};
  const auto operand = [&](int32_t value) -> Operand {
    if (value < 0 || !IsByte(editor.info(value).type)) return {value, {}};
    const qdq::Quantization* meaning = meanings.Of(value);
    return {value, meaning != nullptr ? *meaning : Plain(editor.info(value).type)};
  };
  for (const int32_t input : node.inputs) work.inputs.push_back(operand(input));
  for (const int32_t output : node.outputs) work.outputs.push_back(operand(output));
  const Operand& first = work.inputs[0];
  const auto same = [&](const Operand& other) {
    return !other.quantization || qdq::SameQuantization(*first.quantization, *other.quantization);
  };
  if (!std::ranges::all_of(work.inputs, same) || !std::ranges::all_of(work.outputs, same)) {
    *why = "it moves numbers between values that are read with other scales or zero points";
    return {};
  }
  return work;
}

std::vector<QuantizedOp> OpsOfDequantize(const ir::Editor& editor, int32_t n, std::string* why) {
  const ir::Node& node = editor.node(n);
  const std::vector<int32_t>& readers = editor.Readers(node.outputs[0]);
  const bool all_quantise =
      !readers.empty() && !editor.IsOutput(node.outputs[0]) && std::ranges::all_of(readers, [&](int32_t reader) {
        return qdq::IsQuantize(editor.node(reader)) && editor.node(reader).inputs[0] == node.outputs[0];
      });
  if (!all_quantise) return {};
  auto x = qdq::ReadQuantization(editor.graph(), node, why);
  std::vector<QuantizedOp> works;
  for (const int32_t reader : readers) {
    auto y = x ? qdq::ReadQuantization(editor.graph(), editor.node(reader), why) : std::nullopt;
    if (!y) return {};
    QuantizedOp work;
    work.op = "Rescale";
    work.node = reader;
    work.nodes = {n, reader};
    work.inputs = {{node.inputs[0], x}};
    work.outputs = {{editor.node(reader).outputs[0], std::move(y)}};
    works.push_back(std::move(work));
  }
  return works;
}

}  // namespace

QuantizedOp OpOfUnit(const ir::Editor& editor, const qdq::Unit& unit) {
  const ir::Node& node = editor.node(unit.target);
  QuantizedOp work;
  work.op = node.op_type;
  work.version = node.since_version;
  work.node = unit.target;
  work.unit = unit;
  work.nodes = unit.nodes;
  std::string unused;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int32_t end = unit.dequantize[i];
    if (end < 0) {
      work.inputs.push_back({node.inputs[i], {}});
    } else {
      work.inputs.push_back(
          {editor.node(end).inputs[0], qdq::ReadQuantization(editor.graph(), editor.node(end), &unused)});
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const int32_t end = unit.quantize[i];
    if (end < 0) {
      work.outputs.push_back({node.outputs[i], {}});
    } else {
      work.outputs.push_back(
          {editor.node(end).outputs[0], qdq::ReadQuantization(editor.graph(), editor.node(end), &unused)});
    }
  }
  return work;
}

Meanings::Meanings(const ir::Editor& editor) : of_value_(editor.graph().values.size()) {
  std::string unused;
  const auto take = [&](int32_t value, std::optional<qdq::Quantization> meaning) {
    auto& at = of_value_[static_cast<size_t>(value)];
    if (!at && meaning) at = std::move(meaning);
  };
  // The node that makes a value takes precedence over the nodes that read it.
  for (const bool makers : {true, false})
    for (int32_t n = 0; n < editor.node_count(); ++n) {
      if (editor.removed(n)) continue;
      const ir::Node& node = editor.node(n);
      if (qdq::IsQuantize(node) || qdq::IsDequantize(node)) {
        const bool makes = qdq::IsQuantize(node);
        if (makes == makers && node.HasInput(0) && node.HasOutput(0))
          take(makes ? node.outputs[0] : node.inputs[0], qdq::ReadQuantization(editor.graph(), node, &unused));
        continue;
      }
      for (const IntegerOperator& known : kIntegerOperators) {
        if (node.op_type != known.op_type || node.domain != known.domain) continue;
        const std::optional<QuantizedOp> work = FromQLinear(editor, known, n, &unused);
        if (!work) continue;
        for (const Operand& operand : makers ? work->outputs : work->inputs)
          if (operand.quantization) take(operand.value, operand.quantization);
      }
    }
  const auto spread = [&](int32_t n) {
    const ir::Node& node = editor.node(n);
    if (editor.removed(n) || !IsMover(node)) return;
    const qdq::Quantization* known = nullptr;
    const auto look = [&](int32_t value) {
      if (known == nullptr && value >= 0 && IsByte(editor.info(value).type)) known = Of(value);
    };
    for (const int32_t value : node.inputs) look(value);
    for (const int32_t value : node.outputs) look(value);
    if (known == nullptr || !known->IsPerTensor()) return;
    const qdq::Quantization meaning = *known;
    for (const int32_t value : node.inputs)
      if (value >= 0 && editor.info(value).type == meaning.type) take(value, meaning);
    for (const int32_t value : node.outputs)
      if (value >= 0 && editor.info(value).type == meaning.type) take(value, meaning);
  };
  for (int32_t n = 0; n < editor.node_count(); ++n) spread(n);
  for (int32_t n = editor.node_count(); n-- > 0;) spread(n);
}

std::vector<QuantizedOp> OpsOfNode(const ir::Editor& editor, const Meanings& meanings, int32_t n, std::string* why) {
  const ir::Node& node = editor.node(n);
  std::optional<QuantizedOp> work;
  if (node.outputs.empty() || !node.HasOutput(0) || !node.HasInput(0)) return {};
  if (qdq::IsDequantize(node)) return OpsOfDequantize(editor, n, why);
  if (node.domain == kMicrosoft && node.op_type == "QLinearConcat") {
    work = OpOfConcat(editor, n, why);
  } else if (node.Is("ConvInteger") || node.Is("MatMulInteger")) {
    work = OpOfSums(editor, n, why);
  } else if (IsMover(node) && IsByte(editor.info(node.inputs[0]).type)) {
    work = OpOfMove(editor, meanings, n, why);
  } else {
    for (const IntegerOperator& known : kIntegerOperators)
      if (node.op_type == known.op_type && node.domain == known.domain) work = FromQLinear(editor, known, n, why);
  }
  if (!work) return {};
  std::vector<QuantizedOp> works;
  works.push_back(std::move(*work));
  return works;
}

}  // namespace epiphyte::npu
