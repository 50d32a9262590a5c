#include "core/onnx/infer/node_inference.h"

#include <cstring>

#include "core/base/error.h"
#include "core/onnx/read/type_reader.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {

const Type* NodeInference::type(size_t index) const {
  const ValueDef* value = node_.input(index);
  if (value == nullptr || !value->type() || value->type()->kind() == EP_KIND_UNKNOWN) return nullptr;
  return value->type().get();
}

DataType NodeInference::element(size_t index) const {
  const Type* input = type(index);
  return input != nullptr && input->IsTensor() ? input->element_type() : DataType::kUndefined;
}

const Shape* NodeInference::shape(size_t index) const {
  const Type* input = type(index);
  return input != nullptr && input->IsTensor() && input->shape() ? &*input->shape() : nullptr;
}

std::optional<std::vector<float>> NodeInference::floats(size_t index) const {
  const ConstantPtr constant = ValueData::ConstantOf(node_.input(index));
  if (!constant || constant->type() != DataType::kFloat || constant->element_count() > ValueData::kMaxElements) {
    return std::nullopt;
  }
  std::vector<float> numbers(constant->element_count());
  if (!numbers.empty()) std::memcpy(numbers.data(), constant->bytes(), constant->byte_size());
  return numbers;
}

void NodeInference::Set(size_t index, TypePtr type) {
  if (index >= outputs_.size() || node_.output(index) == nullptr) return;
  if (type && type->shape() && type->shape()->size() > kMaxRank) {
    Reject("output {} would have {} dimensions, at most {} expected", index, type->shape()->size(), kMaxRank);
  }
  outputs_[index] = std::move(type);
}

void NodeInference::SetTensor(size_t index, DataType element, std::optional<Shape> shape) {
  if (element != DataType::kUndefined) Set(index, Type::Tensor(element, std::move(shape)));
}

void NodeInference::SetLike(size_t index, size_t input) {
  if (type(input) != nullptr) Set(index, node_.input(input)->type());
}

void NodeInference::RejectBecause(std::string_view reason) const {
  Fail(StatusCode::kInvalidGraph, "{}: {}", NodeLabel(node_), reason);
}

size_t NodeInference::Axis(int64_t axis, size_t rank) const {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    Reject("axis {} found, {} to {} expected for rank {}", axis, -signed_rank, signed_rank - 1, rank);
  }
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::vector<int64_t> NodeInference::Ints(std::string_view name, std::vector<int64_t> fallback) const {
  const Attribute* attribute = node_.FindAttribute(name);
  return attribute != nullptr && attribute->type() == AttributeType::kInts ? attribute->ints() : std::move(fallback);
}

std::optional<Shape> ShapeFromInput(const NodeInference& node, size_t index) {
  const ValueData::Elements* elements = node.data().Find(node.node().input(index));
  if (elements == nullptr) {
    const Shape* length = node.shape(index);
    if (length == nullptr || length->size() != 1 || !(*length)[0].known()) return std::nullopt;
    if ((*length)[0].value > static_cast<int64_t>(kMaxRank)) return std::nullopt;
    return Shape(static_cast<size_t>((*length)[0].value));
  }
  Shape shape;
  for (const ValueData::Element& element : *elements) {
    if (element.value && *element.value < 0) node.Reject("input {} asks for a dimension of {}", index, *element.value);
    shape.push_back(element.value ? Dim(*element.value) : Dim::Symbol(element.symbol));
  }
  return shape;
}

Shape Broadcast(const NodeInference& node, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[offset + i];
    const Dim& other = shorter[i];
    if (dim == other || other.value == 1) continue;
    if (dim.value == 1) {
      dim = other;
    } else if (dim.known() && other.known()) {
      node.Reject("dimensions {} and {} can't be broadcast to one another", dim.value, other.value);
    } else if (other.known()) {
      dim = other;
    } else if (!dim.known()) {
      dim = Dim();
    }
  }
  return result;
}

Dim AddDims(const Dim& a, int64_t b) {
  if (b == 0) return a;
  int64_t sum = 0;
  if (!a.known() || __builtin_add_overflow(a.value, b, &sum) || sum < 0) return Dim();
  return Dim(sum);
}

Dim MulDims(const Dim& a, const Dim& b) {
  if (a.value == 1) return b;
  if (b.value == 1) return a;
  int64_t product = 0;
  if (!a.known() || !b.known() || __builtin_mul_overflow(a.value, b.value, &product)) return Dim();
  return Dim(product);
}

}  // namespace epiphyte::core
