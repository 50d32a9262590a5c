// Types: element types of tensors, and the declared types of a model's inputs and outputs.
//
//   for (const epiphyte::ValueInfo& input : session.inputs()) {
//     std::cout << input.name << ' ' << input.type.ToString() << '\n';  // "x tensor(float)[batch,3,224,224]"
//     if (!input.type.shape()) continue;
//     for (const epiphyte::Dimension& dimension : *input.type.shape()) …
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "epiphyte/export.hpp"

namespace epiphyte::core {
class Type;
}

namespace epiphyte {

// Numbers are those of ONNX's TensorProto.DataType.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// Returns the name as in ONNX's type strings: "float", "int64", …
EPIPHYTE_API std::string_view ElementTypeName(ElementType type);

// Bit patterns of element types that C++ doesn't have.
struct Float16 {
  uint16_t bits = 0;
};
struct Bfloat16 {
  uint16_t bits = 0;
};

// Element type of a C++ type; kUndefined for a type without one.
template <typename T>
constexpr ElementType ElementTypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return ElementType::kFloat;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::kDouble;
  else if constexpr (std::is_same_v<T, int8_t>)
    return ElementType::kInt8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return ElementType::kInt16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return ElementType::kInt32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return ElementType::kInt64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return ElementType::kUint8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return ElementType::kUint16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return ElementType::kUint32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return ElementType::kUint64;
  else if constexpr (std::is_same_v<T, bool>)
    return ElementType::kBool;
  else if constexpr (std::is_same_v<T, Float16>)
    return ElementType::kFloat16;
  else if constexpr (std::is_same_v<T, Bfloat16>)
    return ElementType::kBfloat16;
  else
    return ElementType::kUndefined;
}

enum class ValueKind : uint32_t { kEmpty = 0, kTensor = 1, kSparseTensor = 2, kSequence = 3, kOptional = 4, kMap = 5 };

// One dimension of a declared shape.
struct Dimension {
  int64_t size = -1;   // -1: not known before the run
  std::string symbol;  // may be set only when size is -1
};

// A declared type: immutable, cheap to copy. Thread-safe.
class EPIPHYTE_API TypeInfo {
 public:
  TypeInfo() = default;  // unknown
  static TypeInfo Tensor(ElementType element, std::optional<std::vector<Dimension>> shape = std::nullopt);
  static TypeInfo Sequence(const TypeInfo& element);
  static TypeInfo Optional(const TypeInfo& element);

  ValueKind kind() const;            // kEmpty: unknown
  ElementType element_type() const;  // tensor: the element type; map: the key type
  std::string ToString() const;      // "tensor(float)[1,3,height,?]"

  // nullopt means unknown rank. The reference is valid as long as the type or a copy of it. The call on a temporary is
  // therefore deleted: `for (const auto& d : *Make().shape())` would read a destroyed shape.
  const std::optional<std::vector<Dimension>>& shape() const&;
  const std::optional<std::vector<Dimension>>& shape() const&& = delete;
  // Element type of a sequence or optional, or value type of a map.
  const TypeInfo& element() const&;
  TypeInfo element() const&& { return static_cast<const TypeInfo&>(*this).element(); }

 private:
  friend class Access;
  struct Impl;
  explicit TypeInfo(std::shared_ptr<const core::Type> type);
  std::shared_ptr<const Impl> impl_;  // null: unknown
};

// A model's input or output. An unknown type has kind kEmpty.
struct ValueInfo {
  std::string name;
  TypeInfo type;
};

}  // namespace epiphyte
