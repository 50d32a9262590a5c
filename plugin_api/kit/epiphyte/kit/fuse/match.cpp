#include "epiphyte/kit/fuse/match.hpp"

#include <algorithm>

namespace epiphyte::kit::fuse {

bool IsFloatType(EpElementType type) {
  return type == EP_TYPE_FLOAT || type == EP_TYPE_DOUBLE || type == EP_TYPE_FLOAT16 || type == EP_TYPE_BFLOAT16;
}

bool IsNode(const ir::Editor& editor, int32_t n, std::string_view op_type, size_t inputs) {
  if (!editor.Is(n, op_type) || !editor.node(n).HasOutput(0)) return false;
  for (size_t i = 0; i < inputs; ++i)
    if (!editor.node(n).HasInput(i)) return false;
  return true;
}

int32_t Maker(const ir::Editor& editor, int32_t value, std::string_view op_type, size_t inputs) {
  const int32_t n = editor.ProducerOf(value, op_type);
  return IsNode(editor, n, op_type, inputs) && editor.node(n).outputs[0] == value ? n : -1;
}

bool IsArithmetic(const ir::Editor& editor, int32_t n, std::string_view op_type) {
  return IsNode(editor, n, op_type, 2) && editor.node(n).inputs.size() == 2 && !editor.node(n).Has("axis");
}

int32_t ArithmeticMaker(const ir::Editor& editor, int32_t value, std::string_view op_type) {
  const int32_t n = editor.ProducerOf(value, op_type);
  return IsArithmetic(editor, n, op_type) ? n : -1;
}

int32_t Other(const ir::Node& node, int32_t value) { return node.inputs[0] == value ? node.inputs[1] : node.inputs[0]; }

int32_t WithoutCasts(const ir::Editor& editor, int32_t value, int steps) {
  for (; steps > 0; --steps) {
    const int32_t cast = Maker(editor, value, "Cast");
    if (cast < 0 || !IsFloatType(editor.info(value).type)) return value;
    const int32_t from = editor.node(cast).inputs[0];
    if (!IsFloatType(editor.info(from).type)) return value;
    value = from;
  }
  return value;
}

std::optional<std::vector<int64_t>> ListOf(const ir::Editor& editor, const ir::Node& node, std::string_view attribute,
                                           size_t input) {
  if (node.HasInput(input)) return editor.Ints(node.inputs[input]);
  const ir::Attribute* list = node.Find(attribute);
  if (list == nullptr) return std::vector<int64_t>();
  if (list->type != EP_ATTRIBUTE_INTS) return {};
  return list->ints;
}

bool SameDims(const ir::Editor& editor, int32_t a, int32_t b) {
  return a >= 0 && b >= 0 && editor.info(a).rank >= 0 && editor.info(a).dims == editor.info(b).dims &&
         editor.info(a).rank == editor.info(b).rank;
}

int32_t BaseOfSquare(const ir::Editor& editor, int32_t value) {
  if (const int32_t pow = ArithmeticMaker(editor, value, "Pow"); pow >= 0)
    return editor.IsScalarNear(editor.node(pow).inputs[1], 2.0) ? editor.node(pow).inputs[0] : -1;
  if (const int32_t mul = ArithmeticMaker(editor, value, "Mul"); mul >= 0)
    return editor.node(mul).inputs[0] == editor.node(mul).inputs[1] ? editor.node(mul).inputs[0] : -1;
  return -1;
}

int32_t BaseOfRoot(const ir::Editor& editor, int32_t value) {
  if (const int32_t root = Maker(editor, value, "Sqrt"); root >= 0) return editor.node(root).inputs[0];
  if (const int32_t pow = ArithmeticMaker(editor, value, "Pow"); pow >= 0)
    return editor.IsScalarNear(editor.node(pow).inputs[1], 0.5) ? editor.node(pow).inputs[0] : -1;
  return -1;
}

int32_t BaseOfReciprocal(const ir::Editor& editor, int32_t value) {
  if (const int32_t reciprocal = Maker(editor, value, "Reciprocal"); reciprocal >= 0)
    return editor.node(reciprocal).inputs[0];
  if (const int32_t div = ArithmeticMaker(editor, value, "Div"); div >= 0)
    return editor.IsScalarNear(editor.node(div).inputs[0], 1.0) ? editor.node(div).inputs[1] : -1;
  if (const int32_t pow = ArithmeticMaker(editor, value, "Pow"); pow >= 0)
    return editor.IsScalarNear(editor.node(pow).inputs[1], -1.0) ? editor.node(pow).inputs[0] : -1;
  return -1;
}

int32_t WithoutAddend(const ir::Editor& editor, int32_t value, float* number) {
  const int32_t add = ArithmeticMaker(editor, value, "Add");
  if (add < 0) return -1;
  const std::vector<int32_t>& operands = editor.node(add).inputs;
  for (const size_t i : {size_t{0}, size_t{1}})
    if (editor.Scalar(operands[i], number)) return operands[1 - i];
  return -1;
}

Reduction ReductionOf(const ir::Editor& editor, int32_t value, std::string_view op_type) {
  const int32_t n = Maker(editor, value, op_type);
  if (n < 0) return {};
  const ir::Node& node = editor.node(n);
  std::optional<std::vector<int64_t>> axes = ListOf(editor, node, "axes", 1);
  if (!axes) return {};
  const int32_t of = node.inputs[0];
  const int32_t rank = editor.info(of).rank;
  Reduction reduction{of, std::move(*axes), node.Int("keepdims", 1) != 0};
  if (reduction.axes.empty()) {
    if (node.Int("noop_with_empty_axes", 0) != 0 || rank < 1) return {};
    for (int64_t axis = 0; axis < rank; ++axis) reduction.axes.push_back(axis);
    return reduction;
  }
  if (rank < 0) return reduction.axes == std::vector<int64_t>{-1} ? reduction : Reduction();
  for (int64_t& axis : reduction.axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return {};
  }
  std::sort(reduction.axes.begin(), reduction.axes.end());
  const auto repeated = std::adjacent_find(reduction.axes.begin(), reduction.axes.end());
  return repeated == reduction.axes.end() ? reduction : Reduction();
}

std::optional<std::vector<double>> PerChannel(const ir::Editor& editor, int32_t value, size_t channels, size_t rank) {
  const auto values = editor.Floats(value);
  if (!values) return {};
  const Dims& dims = editor.ConstantOf(value)->dims;
  if (dims.size() > rank) return {};
  if (values->size() == 1) return std::vector<double>(channels, values->front());
  if (values->size() != channels || dims.size() + 1 < rank) return {};
  if (dims[dims.size() + 1 - rank] != static_cast<int64_t>(channels)) return {};
  return std::vector<double>(values->begin(), values->end());
}

}  // namespace epiphyte::kit::fuse
