#include "core/abi/type_from_abi.h"

#include <cstring>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/onnx/read/type_reader.h"
#include "core/onnx/wire/wire_reader.h"
#include "epiphyte/ep_abi.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxNameBytes = 256;

template <typename... Args>
[[noreturn]] void Refuse(fmt::format_string<Args...> format, Args&&... args) {
  Fail(StatusCode::kInvalidArgument, "no type: {}", fmt::format(format, std::forward<Args>(args)...));
}

DataType ElementType(EpElementType type) {
  if (!IsValidDataType(type)) Refuse("element type {} found, one of ONNX's from 1 to {} expected", type, EP_TYPE_INT2);
  return static_cast<DataType>(type);
}

std::string DimName(const char* name, int32_t index) {
  const size_t length = strnlen(name, kMaxNameBytes);
  if (length == kMaxNameBytes) Refuse("the name of dimension {} does not end within {} bytes", index, kMaxNameBytes);
  const std::string_view view(name, length);
  if (FindNonText(view) != length || view.find_first_of("\t\r\n") != std::string_view::npos) {
    Refuse("dimension {} is named '{}', printable UTF-8 expected", index, PrintableLine(view));
  }
  return std::string(view);
}

std::optional<Shape> ShapeOf(const EpTypeInfo& type) {
  if (type.rank == -1) return std::nullopt;
  if (type.rank < -1 || type.rank > static_cast<int32_t>(kMaxRank)) {
    Refuse("rank {} found, -1 (not known) to {} expected", type.rank, kMaxRank);
  }
  if (type.rank > 0 && type.dims == nullptr) Refuse("rank {} found, but its dims are null", type.rank);
  Shape shape;
  for (int32_t i = 0; i < type.rank; ++i) {
    if (type.dims[i] < -1) Refuse("dimension {} is {}, -1 (not known) or more expected", i, type.dims[i]);
    const char* name = type.dim_names == nullptr ? nullptr : type.dim_names[i];
    shape.push_back(type.dims[i] >= 0 ? Dim(type.dims[i]) : name == nullptr ? Dim() : Dim::Symbol(DimName(name, i)));
  }
  return shape;
}

TypePtr Convert(const EpTypeInfo* type, int depth) {
  if (type == nullptr) Refuse("the type inside of another one is null");
  if (depth > kMaxNesting) Refuse("types are nested more than {} deep", kMaxNesting);
  if (!EP_HAS_FIELD(type, EpTypeInfo, element)) {
    Refuse("struct_size {} found, at least {} expected", type->struct_size,
           offsetof(EpTypeInfo, element) + sizeof type->element);
  }
  switch (type->kind) {
    case EP_KIND_UNKNOWN: return Type::Unknown();
    case EP_KIND_TENSOR: return Type::Tensor(ElementType(type->element_type), ShapeOf(*type));
    case EP_KIND_SPARSE_TENSOR: return Type::SparseTensor(ElementType(type->element_type), ShapeOf(*type));
    case EP_KIND_SEQUENCE: return Type::Sequence(Convert(type->element, depth + 1));
    case EP_KIND_OPTIONAL: return Type::Optional(Convert(type->element, depth + 1));
    case EP_KIND_MAP: return Type::Map(ElementType(type->element_type), Convert(type->element, depth + 1));
    default: Refuse("kind {} found, {} to {} expected", type->kind, EP_KIND_UNKNOWN, EP_KIND_MAP);
  }
}

}  // namespace

TypePtr TypeFromAbi(const EpTypeInfo& type) { return Convert(&type, 0); }

}  // namespace epiphyte::core
