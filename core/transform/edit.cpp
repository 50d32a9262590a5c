#include "core/transform/edit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace epiphyte::core {
namespace {

constexpr uint64_t kMostElements = 4096;

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value = 0;
  if (exponent == 0x1F) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <typename T>
T Load(const void* data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

std::optional<double> Element(const Constant& constant, uint64_t index) {
  const void* data = constant.bytes();
  switch (constant.type()) {
    case DataType::kFloat: return Load<float>(data, index);
    case DataType::kDouble: return Load<double>(data, index);
    case DataType::kFloat16: return HalfToDouble(Load<uint16_t>(data, index));
    case DataType::kBfloat16: return std::bit_cast<float>(static_cast<uint32_t>(Load<uint16_t>(data, index)) << 16);
    case DataType::kInt8: return Load<int8_t>(data, index);
    case DataType::kUint8:
    case DataType::kBool: return Load<uint8_t>(data, index);
    case DataType::kInt16: return Load<int16_t>(data, index);
    case DataType::kUint16: return Load<uint16_t>(data, index);
    case DataType::kInt32: return Load<int32_t>(data, index);
    case DataType::kUint32: return Load<uint32_t>(data, index);
    case DataType::kInt64: return static_cast<double>(Load<int64_t>(data, index));
    default: return std::nullopt;
  }
}

}  // namespace

const Constant* ConstantInput(const Node& node, size_t index) {
  const ValueDef* value = node.input(index);
  return value == nullptr ? nullptr : value->ResolvedConstant().get();
}

std::optional<std::vector<int64_t>> Integers(const Constant* constant, size_t most) {
  if (constant == nullptr || constant->element_count() > most) return std::nullopt;
  std::vector<int64_t> values(constant->element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    if (constant->type() == DataType::kInt64) {
      values[i] = Load<int64_t>(constant->bytes(), i);
    } else if (constant->type() == DataType::kInt32) {
      values[i] = Load<int32_t>(constant->bytes(), i);
    } else {
      return std::nullopt;
    }
  }
  return values;
}

std::optional<double> UniformValue(const Constant* constant) {
  if (constant == nullptr || constant->element_count() == 0 || constant->element_count() > kMostElements) {
    return std::nullopt;
  }
  const std::optional<double> first = Element(*constant, 0);
  for (uint64_t i = 1; first && i < constant->element_count(); ++i) {
    if (Element(*constant, i) != first) return std::nullopt;
  }
  return first;
}

std::optional<std::vector<int64_t>> StaticShape(const ValueDef* value) {
  if (value == nullptr || value->type() == nullptr || !value->type()->IsTensor() || !value->type()->IsStatic()) {
    return std::nullopt;
  }
  std::vector<int64_t> dims;
  for (const Dim& dim : *value->type()->shape()) dims.push_back(dim.value);
  return dims;
}

DataType ElementType(const ValueDef* value) {
  const bool is_tensor = value != nullptr && value->type() != nullptr && value->type()->IsTensor();
  return is_tensor ? value->type()->element_type() : DataType::kUndefined;
}

bool IsFloatingPoint(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16 ||
         type == DataType::kBfloat16;
}

bool SameStaticShape(const ValueDef* a, const ValueDef* b) {
  const auto shape = StaticShape(a);
  return shape && shape == StaticShape(b);
}

std::optional<size_t> Rank(const ValueDef* value) {
  if (value == nullptr || value->type() == nullptr || !value->type()->IsTensor() || !value->type()->shape()) {
    return std::nullopt;
  }
  return value->type()->shape()->size();
}

bool IsUnused(const ValueDef* value) { return value == nullptr || (value->consumers().empty() && !value->IsOutput()); }

Node* ProducedBy(const ValueDef* value, std::string_view op_type) {
  Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && node->Is(op_type) ? node : nullptr;
}

bool HasOnlyAttributes(const Node& node, std::initializer_list<std::string_view> names) {
  return std::all_of(node.attributes().begin(), node.attributes().end(), [&](const auto& attribute) {
    return std::find(names.begin(), names.end(), attribute->name()) != names.end();
  });
}

std::optional<std::vector<int64_t>> Axes(const Node& node, size_t input_index) {
  if (const Attribute* attribute = node.FindAttribute("axes")) return attribute->ints();
  if (node.input(input_index) == nullptr) return std::vector<int64_t>{};
  return Integers(ConstantInput(node, input_index));
}

namespace {

void Tell(const TransformContext& context, const Node& node, RemovalReason reason, const ValueDef& into) {
  if (context.history != nullptr) context.history->Removed(node, reason, into.name());
}

}  // namespace

bool BypassNode(Graph& graph, Node& node, ValueDef* source, const TransformContext& context) {
  ValueDef* output = node.output(0);
  if (output == nullptr || source == nullptr || source == output) return false;
  for (size_t i = 1; i < node.outputs().size(); ++i) {
    if (!IsUnused(node.outputs()[i])) return false;
  }
  if (!output->IsOutput()) {
    Tell(context, node, RemovalReason::kForwarded, *source);
    graph.ReplaceAllUses(output, source);
    graph.RemoveNode(&node);
    graph.RemoveValue(output);
    return true;
  }
  Node* producer = source->producer();
  if (producer == nullptr || source->IsOutput()) return false;
  const TypePtr type = MergeTypes(output->type(), source->type());
  if (type == nullptr) return false;
  const uint32_t index = source->producer_output();
  Tell(context, node, RemovalReason::kForwarded, *source);
  graph.RemoveNode(&node);
  graph.ReplaceAllUses(source, output);
  graph.ReplaceOutput(producer, index, output);
  output->set_type(type);
  graph.RemoveValue(source);
  return true;
}

bool ReplaceByConstants(Graph& graph, Node& node, std::vector<ConstantPtr> constants, const TransformContext& context) {
  const std::vector<ValueDef*> outputs = node.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr) continue;
    if (outputs[i]->IsOutput() || i >= constants.size() || constants[i] == nullptr) return false;
  }
  const auto made =
      std::find_if(outputs.begin(), outputs.end(), [](const ValueDef* output) { return output != nullptr; });
  if (made != outputs.end()) Tell(context, node, RemovalReason::kFolded, **made);
  graph.RemoveNode(&node);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != nullptr) graph.SetConstant(outputs[i], std::move(constants[i]));
  }
  return true;
}

void TakeOver(Graph& graph, Node& node, const Node& first, const TransformContext& context) {
  graph.ReplaceInput(&node, 0, first.input(0));
  if (context.history != nullptr) context.history->Absorbed(first, node);
}

ConstantPtr Int64Vector(const std::vector<int64_t>& values) {
  return Constant::Copy(DataType::kInt64, {static_cast<int64_t>(values.size())}, values.data(),
                        values.size() * sizeof(int64_t));
}

}  // namespace epiphyte::core
