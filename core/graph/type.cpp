#include "core/graph/type.h"

#include <array>
#include <limits>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

struct DataTypeTraits {
  std::string_view name;
  uint32_t bits;
};

constexpr std::array<DataTypeTraits, 27> kDataTypes = {{
    {"undefined", 0},      {"float", 32},     {"uint8", 8},
    {"int8", 8},           {"uint16", 16},    {"int16", 16},
    {"int32", 32},         {"int64", 64},     {"string", sizeof(EpString) * 8},
    {"bool", 8},           {"float16", 16},   {"double", 64},
    {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
    {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2},
}};

const DataTypeTraits& Traits(DataType type) {
  const auto index = static_cast<size_t>(static_cast<int32_t>(type));
  return index < kDataTypes.size() ? kDataTypes[index] : kDataTypes[0];
}

std::optional<Shape> MergeShapes(const std::optional<Shape>& a, const std::optional<Shape>& b, bool* contradiction) {
  if (!a) return b;
  if (!b) return a;
  if (a->size() != b->size()) {
    *contradiction = true;
    return std::nullopt;
  }
  Shape merged = *a;
  for (size_t i = 0; i < merged.size(); ++i) {
    const Dim& other = (*b)[i];
    if (merged[i].known()) {
      *contradiction |= other.known() && other.value != merged[i].value;
    } else if (other.known() || merged[i].symbol.empty()) {
      merged[i] = other;
    }
  }
  return merged;
}

std::optional<Shape> JoinShapes(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape joined = *a;
  for (size_t i = 0; i < joined.size(); ++i) {
    if (joined[i] != (*b)[i]) joined[i] = Dim();
  }
  return joined;
}

bool IsUnknown(const TypePtr& type) { return !type || type->kind() == EP_KIND_UNKNOWN; }

}  // namespace

bool IsValidDataType(int32_t value) { return value > 0 && static_cast<size_t>(value) < kDataTypes.size(); }

std::string_view DataTypeName(DataType type) { return Traits(type).name; }

uint32_t DataTypeBits(DataType type) { return Traits(type).bits; }

uint64_t DataTypeBytes(DataType type, uint64_t count) {
  const uint32_t bits = DataTypeBits(type);
  if (bits == 0)
    Fail(StatusCode::kInvalidGraph, "element type {} found, an ONNX type expected", static_cast<int32_t>(type));
  if (bits < 8) {
    const uint64_t per_byte = 8 / bits;
    return count / per_byte + (count % per_byte != 0 ? 1 : 0);
  }
  const uint64_t bytes = bits / 8;
  if (count > std::numeric_limits<uint64_t>::max() / bytes) {
    Fail(StatusCode::kInvalidGraph, "tensor of {} {} elements is larger than any memory", count, DataTypeName(type));
  }
  return count * bytes;
}

uint64_t ElementCount(const int64_t* dims, size_t rank) {
  uint64_t count = 1;
  bool zero = false;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) Fail(StatusCode::kInvalidGraph, "dimension {} is {}, 0 or more expected", i, dims[i]);
    zero |= dims[i] == 0;
  }
  if (zero) return 0;
  for (size_t i = 0; i < rank; ++i) {
    const auto dim = static_cast<uint64_t>(dims[i]);
    if (count > std::numeric_limits<uint64_t>::max() / dim) {
      Fail(StatusCode::kInvalidGraph, "number of elements exceeds 64 bits at dimension {} of size {}", i, dims[i]);
    }
    count *= dim;
  }
  return count;
}

uint64_t ElementCount(const std::vector<int64_t>& dims) { return ElementCount(dims.data(), dims.size()); }

Dim Dim::Symbol(std::string name) {
  Dim dim;
  dim.symbol = std::move(name);
  return dim;
}

Type::Type(EpTypeKind kind, DataType element_type, std::optional<Shape> shape, TypePtr element)
    : shape_(std::move(shape)), element_(std::move(element)) {
  info_.struct_size = sizeof info_;
  info_.kind = kind;
  info_.element_type = static_cast<EpElementType>(element_type);
  info_.rank = -1;
  info_.element = element_ ? element_->abi() : nullptr;
  if (!shape_) return;
  bool symbols = false;
  dims_.reserve(shape_->size());
  for (Dim& dim : *shape_) {
    if (dim.value < 0) dim.value = -1;
    if (dim.known()) dim.symbol.clear();
    symbols |= !dim.symbol.empty();
    dims_.push_back(dim.value);
  }
  info_.rank = static_cast<int32_t>(dims_.size());
  info_.dims = dims_.data();
  if (!symbols) return;
  dim_names_.reserve(shape_->size());
  for (const Dim& dim : *shape_) dim_names_.push_back(dim.symbol.empty() ? nullptr : dim.symbol.c_str());
  info_.dim_names = dim_names_.data();
}

TypePtr Type::Unknown() {
  return std::make_shared<const Type>(EP_KIND_UNKNOWN, DataType::kUndefined, std::nullopt, nullptr);
}

TypePtr Type::Tensor(DataType element, std::optional<Shape> shape) {
  return std::make_shared<const Type>(EP_KIND_TENSOR, element, std::move(shape), nullptr);
}

TypePtr Type::SparseTensor(DataType element, std::optional<Shape> shape) {
  return std::make_shared<const Type>(EP_KIND_SPARSE_TENSOR, element, std::move(shape), nullptr);
}

TypePtr Type::Sequence(TypePtr element) {
  return std::make_shared<const Type>(EP_KIND_SEQUENCE, DataType::kUndefined, std::nullopt, std::move(element));
}

TypePtr Type::Optional(TypePtr element) {
  return std::make_shared<const Type>(EP_KIND_OPTIONAL, DataType::kUndefined, std::nullopt, std::move(element));
}

TypePtr Type::Map(DataType key, TypePtr value) {
  return std::make_shared<const Type>(EP_KIND_MAP, key, std::nullopt, std::move(value));
}

bool Type::IsStatic() const {
  if (!shape_) return false;
  for (const Dim& dim : *shape_) {
    if (!dim.known()) return false;
  }
  return true;
}

std::string Type::ToString() const {
  const std::string element = element_ ? element_->ToString() : "unknown";
  switch (kind()) {
    case EP_KIND_SEQUENCE: return "seq(" + element + ")";
    case EP_KIND_OPTIONAL: return "optional(" + element + ")";
    case EP_KIND_MAP: return fmt::format("map({},{})", DataTypeName(element_type()), element);
    case EP_KIND_TENSOR:
    case EP_KIND_SPARSE_TENSOR: break;
    default: return "unknown";
  }
  std::string text = fmt::format("{}({})", IsTensor() ? "tensor" : "sparse_tensor", DataTypeName(element_type()));
  if (!shape_) return text;
  text += '[';
  for (size_t i = 0; i < shape_->size(); ++i) {
    const Dim& dim = (*shape_)[i];
    if (i > 0) text += ',';
    text += dim.known() ? std::to_string(dim.value) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text + ']';
}

bool operator==(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind() != b.kind() || a.element_type() != b.element_type() || a.shape() != b.shape()) return false;
  if (!a.element() || !b.element()) return a.element() == b.element();
  return *a.element() == *b.element();
}

TypePtr MergeTypes(const TypePtr& a, const TypePtr& b) {
  if (IsUnknown(a)) return b ? b : Type::Unknown();
  if (IsUnknown(b) || a == b) return a;
  if (a->kind() != b->kind()) return nullptr;
  DataType element_type = a->element_type();
  if (element_type == DataType::kUndefined) element_type = b->element_type();
  if (b->element_type() != DataType::kUndefined && b->element_type() != element_type) return nullptr;
  bool contradiction = false;
  std::optional<Shape> shape = MergeShapes(a->shape(), b->shape(), &contradiction);
  if (contradiction) return nullptr;
  TypePtr element = a->element();
  if (a->element() || b->element()) {
    element = MergeTypes(a->element(), b->element());
    if (!element) return nullptr;
  }
  TypePtr merged = std::make_shared<const Type>(a->kind(), element_type, std::move(shape), std::move(element));
  if (*merged == *a) return a;
  return *merged == *b ? b : merged;
}

TypePtr JoinTypes(const TypePtr& a, const TypePtr& b) {
  if (IsUnknown(a) || IsUnknown(b)) return Type::Unknown();
  if (a == b || *a == *b) return a;
  if (a->kind() != b->kind() || a->element_type() != b->element_type()) return nullptr;
  TypePtr element;
  if (a->element() && b->element()) {
    element = JoinTypes(a->element(), b->element());
    if (!element) return nullptr;
  }
  return std::make_shared<const Type>(a->kind(), a->element_type(), JoinShapes(a->shape(), b->shape()),
                                      std::move(element));
}

TypePtr WithoutShape(const TypePtr& type) {
  if (!type || (!type->shape() && !type->element())) return type;
  return std::make_shared<const Type>(type->kind(), type->element_type(), std::nullopt, WithoutShape(type->element()));
}

}  // namespace epiphyte::core
