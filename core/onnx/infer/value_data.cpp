#include "core/onnx/infer/value_data.h"

#include <algorithm>
#include <cstring>

namespace epiphyte::core {
namespace {

using Element = ValueData::Element;
using Elements = ValueData::Elements;

const ValueDef* Outermost(const ValueDef* value) {
  while (value->outer() != nullptr) value = value->outer();
  return value;
}

bool IsSmallInteger(const Type* type) {
  if (type == nullptr || !type->IsTensor() || !type->shape() || type->shape()->size() > 1) return false;
  if (type->element_type() != DataType::kInt64 && type->element_type() != DataType::kInt32) return false;
  if (type->shape()->empty()) return true;
  const int64_t count = type->shape()->front().value;
  return count >= 0 && count <= static_cast<int64_t>(ValueData::kMaxElements);
}

template <typename T>
Elements ReadElements(const Constant& constant) {
  Elements elements(constant.element_count());
  const auto* bytes = static_cast<const uint8_t*>(constant.bytes());
  for (size_t i = 0; i < elements.size(); ++i) {
    T number = 0;
    std::memcpy(&number, bytes + i * sizeof number, sizeof number);
    elements[i].value = number;
  }
  return elements;
}

Elements FromDims(const Shape& shape) {
  Elements elements;
  for (const Dim& dim : shape) {
    Element& element = elements.emplace_back();
    if (dim.known())
      element.value = dim.value;
    else
      element.symbol = dim.symbol;
  }
  return elements;
}

// Clamps bounds of Shape by Python's slice rules.
size_t ClampBound(int64_t bound, size_t size) {
  const auto length = static_cast<int64_t>(size);
  if (bound < 0) bound += length;
  return static_cast<size_t>(std::clamp<int64_t>(bound, 0, length));
}

std::optional<Elements> ShapeElements(const Node& node) {
  const ValueDef* input = node.input(0);
  if (input == nullptr || !input->type() || !input->type()->shape()) return std::nullopt;
  const Elements all = FromDims(*input->type()->shape());
  const size_t begin = ClampBound(node.IntAttribute("start", 0), all.size());
  const size_t end = ClampBound(node.IntAttribute("end", INT64_MAX), all.size());
  if (begin >= end) return Elements{};
  return Elements(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end));
}

std::optional<Elements> SizeElements(const Node& node) {
  const ValueDef* input = node.input(0);
  if (input == nullptr || !input->type() || !input->type()->IsStatic()) return std::nullopt;
  int64_t product = 1;
  for (const Dim& dim : *input->type()->shape()) {
    if (__builtin_mul_overflow(product, dim.value, &product)) return std::nullopt;
  }
  return Elements{{product, ""}};
}

// Element-wise arithmetic of two scalars or vectors. A single element is broadcast.
std::optional<Elements> Arithmetic(char op, const Elements& a, const Elements& b) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  const size_t count = a.empty() || b.empty() ? 0 : std::max(a.size(), b.size());
  Elements result(count);
  for (size_t i = 0; i < count; ++i) {
    const Element& x = a[a.size() == 1 ? 0 : i];
    const Element& y = b[b.size() == 1 ? 0 : i];
    const bool neutral_y = y.value == (op == '*' || op == '/' ? 1 : 0);
    const bool neutral_x = (op == '*' && x.value == 1) || (op == '+' && x.value == 0);
    if (neutral_y)
      result[i] = x;
    else if (neutral_x)
      result[i] = y;
    if (neutral_x || neutral_y || !x.value || !y.value) continue;
    int64_t value = 0;
    bool overflow = false;
    switch (op) {
      case '+': overflow = __builtin_add_overflow(*x.value, *y.value, &value); break;
      case '-': overflow = __builtin_sub_overflow(*x.value, *y.value, &value); break;
      case '*': overflow = __builtin_mul_overflow(*x.value, *y.value, &value); break;
      default:
        overflow = *y.value == 0 || (*x.value == INT64_MIN && *y.value == -1);
        if (!overflow) value = *x.value / *y.value;  // ONNX truncates like C++
    }
    if (!overflow) result[i].value = value;
  }
  return result;
}

std::optional<Elements> Gather(const Elements& data, const std::vector<int64_t>& indices) {
  Elements result;
  for (int64_t index : indices) {
    if (index < 0) index += static_cast<int64_t>(data.size());
    if (index < 0 || index >= static_cast<int64_t>(data.size())) return std::nullopt;
    result.push_back(data[static_cast<size_t>(index)]);
  }
  return result;
}

std::optional<Elements> Slice(const Elements& data, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return std::nullopt;
  if (data.empty()) return Elements{};
  const auto size = static_cast<int64_t>(data.size());
  if (start < 0) start += size;
  if (end < 0 && end >= -size) end += size;
  start = std::clamp<int64_t>(start, 0, step > 0 ? size : size - 1);
  end = std::clamp<int64_t>(end, step > 0 ? 0 : -1, size);
  Elements result;
  for (int64_t i = start; step > 0 ? i < end : i > end;) {
    result.push_back(data[static_cast<size_t>(i)]);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return result;
}

}  // namespace

ConstantPtr ValueData::ConstantOf(const ValueDef* value) {
  if (value == nullptr) return nullptr;
  value = Outermost(value);
  if (value->IsConstant()) return value->constant();
  const Node* node = value->producer();
  if (node == nullptr || !node->Is("Constant")) return nullptr;
  for (const auto& attribute : node->attributes()) {
    const auto count = static_cast<int64_t>(attribute->ints().size() + attribute->floats().size());
    const bool single = attribute->type() == AttributeType::kInt || attribute->type() == AttributeType::kFloat;
    const std::vector<int64_t> dims = single ? std::vector<int64_t>{} : std::vector<int64_t>{count};
    switch (attribute->type()) {
      case AttributeType::kTensor: return attribute->t();
      case AttributeType::kInt:
      case AttributeType::kInts:
        return Constant::Copy(DataType::kInt64, dims, attribute->ints().data(), attribute->ints().size() * 8);
      case AttributeType::kFloat:
      case AttributeType::kFloats:
        return Constant::Copy(DataType::kFloat, dims, attribute->floats().data(), attribute->floats().size() * 4);
      default: return nullptr;
    }
  }
  return nullptr;
}

const ValueData::Elements* ValueData::Find(const ValueDef* value) {
  if (value == nullptr) return nullptr;
  value = Outermost(value);
  const auto found = elements_.find(value);
  if (found != elements_.end()) return &found->second;
  const ConstantPtr constant = ConstantOf(value);
  if (!constant || constant->dims().size() > 1 || constant->element_count() > kMaxElements) return nullptr;
  if (constant->type() == DataType::kInt64) {
    return &elements_.emplace(value, ReadElements<int64_t>(*constant)).first->second;
  }
  if (constant->type() == DataType::kInt32) {
    return &elements_.emplace(value, ReadElements<int32_t>(*constant)).first->second;
  }
  return nullptr;
}

std::optional<std::vector<int64_t>> ValueData::FindInts(const ValueDef* value) {
  const Elements* elements = Find(value);
  if (elements == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Element& element : *elements) {
    if (!element.value) return std::nullopt;
    numbers.push_back(*element.value);
  }
  return numbers;
}

void ValueData::Propagate(const Node& node) {
  if (!node.domain().empty() || node.outputs().size() != 1 || node.output(0) == nullptr) return;
  const ValueDef* output = node.output(0);
  elements_.erase(output);  // nested graphs are inferred more than once
  if (!IsSmallInteger(output->type().get())) return;
  std::optional<Elements> elements = Compute(node);
  if (!elements) return;
  // Discards the elements when inference found another number of elements.
  const Shape& shape = *output->type()->shape();
  if (elements->size() == (shape.empty() ? 1 : static_cast<size_t>(shape[0].value))) {
    elements_.insert_or_assign(output, std::move(*elements));
  }
}

std::optional<ValueData::Elements> ValueData::Compute(const Node& node) {
  const std::string& op = node.op_type();
  if (op == "Shape") return ShapeElements(node);
  if (op == "Size") return SizeElements(node);
  if (op == "Concat") {
    Elements joined;
    for (const ValueDef* input : node.inputs()) {
      const Elements* part = Find(input);
      if (part == nullptr) return std::nullopt;
      joined.insert(joined.end(), part->begin(), part->end());
    }
    return joined;
  }
  const Elements* data = Find(node.input(0));
  if (data == nullptr) return std::nullopt;
  if (op == "Identity" || op == "Cast" || op == "Squeeze" || op == "Unsqueeze" || op == "Reshape") return *data;
  if (op == "Gather") {
    const auto indices = FindInts(node.input(1));
    return indices ? Gather(*data, *indices) : std::nullopt;
  }
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") {
    const Elements* other = Find(node.input(1));
    const char symbol = op == "Add" ? '+' : op == "Sub" ? '-' : op == "Mul" ? '*' : '/';
    return other == nullptr ? std::nullopt : Arithmetic(symbol, *data, *other);
  }
  if (op == "Slice") {
    const auto bound = [&](std::string_view attribute, size_t input) -> std::optional<std::vector<int64_t>> {
      const Attribute* ints = node.FindAttribute(attribute);
      return ints != nullptr ? std::optional(ints->ints()) : FindInts(node.input(input));
    };
    const auto starts = bound("starts", 1), ends = bound("ends", 2);
    const auto steps = node.input(4) == nullptr ? std::vector<int64_t>{1} : FindInts(node.input(4));
    if (!starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 || steps->size() != 1)
      return std::nullopt;
    return Slice(*data, (*starts)[0], (*ends)[0], (*steps)[0]);
  }
  return std::nullopt;
}

}  // namespace epiphyte::core
