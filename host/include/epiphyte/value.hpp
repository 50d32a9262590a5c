// Value: data that goes into a run or comes out of it: a tensor, a string tensor, a sequence, a map, an empty optional.
//
//   std::vector<float> pixels(3 * 224 * 224);
//   epiphyte::Value image = epiphyte::Value::Copy<float>(pixels, {1, 3, 224, 224});
//   epiphyte::Value view = epiphyte::Value::Wrap<float>(pixels, {1, 3, 224, 224});  // no copy; pixels must live on
//   std::span<const float> read = image.Data<float>();                              // throws when it isn't float
//
// A handle with a reference count: copies share the data. Reading from several threads is safe. MutableData is for
// filling a value before it is shared: a run on another thread must not see it change.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/error.hpp"
#include "epiphyte/export.hpp"
#include "epiphyte/memory.hpp"
#include "epiphyte/type.hpp"

namespace epiphyte::core {
class Value;
}

namespace epiphyte {

using Shape = std::vector<int64_t>;

class EPIPHYTE_API Value {
 public:
  // Refers to nothing; as a run's input: an optional one that is left out.
  Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Value();

  // A tensor with uninitialised memory, 64-byte aligned. Not for strings.
  static Value Tensor(ElementType type, const Shape& shape);
  // The application's memory, which must stay valid as long as the value or a copy of it; `release`, if any, is called
  // when the last of them goes. `bytes` must be what type and shape need.
  static Value Wrap(ElementType type, const Shape& shape, void* data, uint64_t bytes,
                    std::function<void()> release = {});
  template <typename T>
  static Value Wrap(std::span<T> data, const Shape& shape, std::function<void()> release = {}) {
    return Wrap(ElementTypeOf<T>(), shape, data.data(), data.size_bytes(), std::move(release));
  }
  template <typename T>
  static Value Copy(std::span<const T> data, const Shape& shape) {
    return CopyBytes(ElementTypeOf<T>(), shape, data.data(), data.size_bytes());
  }
  static Value CopyBytes(ElementType type, const Shape& shape, const void* data, uint64_t bytes);
  static Value Strings(std::vector<std::string> strings, const Shape& shape);
  // `element_type` tells what an empty sequence would hold. Elements are in host memory: see ToHost.
  static Value Sequence(ElementType element_type, const std::vector<Value>& elements);
  static Value EmptyOptional();

  // --- in a device's memory; see memory.hpp. Not for strings. All throw OUT_OF_MEMORY when there is none left,
  // DEVICE_RESET when the device was lost.

  // A tensor with uninitialised memory; an empty `memory`: as Tensor.
  static Value In(const Memory& memory, ElementType type, const Shape& shape);
  // A tensor over memory that exists, without a copy. `external` must have at least what type and shape need;
  // descriptors are the caller's to close afterwards, memory must live until `release`, if any, is called: when the last
  // handle and the last run that uses it have gone. Throws INVALID_ARGUMENT when the device can't import it.
  static Value Import(const Memory& memory, ElementType type, const Shape& shape, const ExternalMemory& external,
                      std::function<void()> release = {});
  // For others to import; a descriptor is the caller's to close. Throws INVALID_ARGUMENT for a tensor that shares its
  // buffer with others (Import's and large ones don't), or a memory that can't.
  ExternalMemory Export(HandleType type) const;
  // A copy of the tensor in that memory; an empty `memory`: in host memory. From any memory, of any plugin.
  Value CopyTo(const Memory& memory) const;
  // A copy in host memory of a tensor that isn't there; everything else: itself.
  Value ToHost() const;
  // Copies the data of `source`, which has the same type and shape, into this tensor's memory.
  void CopyFrom(const Value& source);
  // Where the tensor is; empty in host memory and for what is no tensor.
  Memory memory() const;

  explicit operator bool() const { return value_ != nullptr; }
  ValueKind kind() const;  // kEmpty: an empty optional
  bool IsTensor() const { return value_ != nullptr && kind() == ValueKind::kTensor; }

  // --- of tensors; anything else throws INVALID_ARGUMENT
  ElementType element_type() const;
  Shape shape() const;
  uint64_t element_count() const;
  uint64_t byte_size() const;
  // Of all but string tensors. In a device's memory only where that is mappable; INVALID_ARGUMENT otherwise, see ToHost.
  const void* data() const;
  // Throws INVALID_ARGUMENT for a read-only tensor, as MutableData, CopyFrom and IoBinding::BindOutput do: a constant
  // of a model that a transform sees (GraphValue::constant, GraphNode::attribute). CopyTo({}) gives one to write to.
  void* mutable_data();
  // Throws INVALID_ARGUMENT when T isn't the tensor's element type.
  template <typename T>
  std::span<const T> Data() const {
    return {static_cast<const T*>(CheckedData(ElementTypeOf<T>())), static_cast<size_t>(element_count())};
  }
  template <typename T>
  std::span<T> MutableData() {
    return {static_cast<T*>(CheckedMutableData(ElementTypeOf<T>())), static_cast<size_t>(element_count())};
  }
  std::vector<std::string> strings() const;

  // Of a sequence; of a map {keys, values}. Anything else throws INVALID_ARGUMENT.
  std::vector<Value> elements() const;

 private:
  friend class Access;
  const void* CheckedData(ElementType type) const;
  void* CheckedMutableData(ElementType type);
  core::Value* value_ = nullptr;  // one reference
};

}  // namespace epiphyte
