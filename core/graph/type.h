// Type: the static type of a value. Immutable and shared; it holds the EpTypeInfo that the C ABI hands out, so that a
// plugin's query costs nothing.
//
//   TypePtr image = Type::Tensor(DataType::kFloat, {Dim(1), Dim(3), Dim::Symbol("height"), Dim::Symbol("width")});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_type.h"

namespace epiphyte::core {

// ONNX's TensorProto.DataType.
enum class DataType : int32_t {
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

// True for every enumerator but kUndefined.
bool IsValidDataType(int32_t value);
// "float", "int64", … as in ONNX's type strings; "undefined" otherwise.
std::string_view DataTypeName(DataType type);
// Bits of one element: 4 for packed types, 32 for float. Strings count as sizeof(EpString) bytes.
uint32_t DataTypeBits(DataType type);
// Bytes of `count` densely packed elements; throws INVALID_GRAPH on overflow of 64 bits.
uint64_t DataTypeBytes(DataType type, uint64_t count);
// Product of `dims`. Throws INVALID_GRAPH when a dim is negative or the product overflows.
uint64_t ElementCount(const std::vector<int64_t>& dims);
uint64_t ElementCount(const int64_t* dims, size_t rank);

// One dimension: a size, a symbol, or unknown.
struct Dim {
  Dim() = default;
  explicit Dim(int64_t size) : value(size) {}
  static Dim Symbol(std::string name);

  int64_t value = -1;  // -1: not known before the run
  std::string symbol;  // may be set only when value is -1

  bool known() const { return value >= 0; }
  friend bool operator==(const Dim&, const Dim&) = default;
};
using Shape = std::vector<Dim>;

class Type;
using TypePtr = std::shared_ptr<const Type>;

class Type {
 public:
  static TypePtr Unknown();
  // `shape` nullopt: the rank is unknown.
  static TypePtr Tensor(DataType element, std::optional<Shape> shape = std::nullopt);
  static TypePtr SparseTensor(DataType element, std::optional<Shape> shape = std::nullopt);
  static TypePtr Sequence(TypePtr element);
  static TypePtr Optional(TypePtr element);
  static TypePtr Map(DataType key, TypePtr value);

  EpTypeKind kind() const { return info_.kind; }
  bool IsTensor() const { return info_.kind == EP_KIND_TENSOR; }
  DataType element_type() const { return static_cast<DataType>(info_.element_type); }
  const std::optional<Shape>& shape() const { return shape_; }
  const TypePtr& element() const { return element_; }  // for sequence, optional, and map (its value type)
  // True when all dimensions are known.
  bool IsStatic() const;

  const EpTypeInfo* abi() const { return &info_; }
  // "tensor(float)[1,3,height,?]", "seq(tensor(int64))".
  std::string ToString() const;

  // Use the factories. Public for std::make_shared only.
  Type(EpTypeKind kind, DataType element_type, std::optional<Shape> shape, TypePtr element);
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

 private:
  EpTypeInfo info_{};
  std::optional<Shape> shape_;
  TypePtr element_;
  std::vector<int64_t> dims_;
  std::vector<const char*> dim_names_;
};

bool operator==(const Type& a, const Type& b);
// Combines two descriptions of one value; nullptr when they contradict each other.
TypePtr MergeTypes(const TypePtr& a, const TypePtr& b);
// The most precise type that covers values of both types; nullptr when their kinds or element types differ.
TypePtr JoinTypes(const TypePtr& a, const TypePtr& b);
// The type without its shape and the shapes of its element types. Null stays null.
TypePtr WithoutShape(const TypePtr& type);

}  // namespace epiphyte::core
