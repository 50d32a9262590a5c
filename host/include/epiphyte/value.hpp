// Value: an input or output of a run: a tensor, a string tensor, a sequence, a map, an empty optional.
//
//   std::vector<float> pixels(3 * 224 * 224);
//   epiphyte::Value image = epiphyte::Value::Copy<float>(pixels, {1, 3, 224, 224});
//   epiphyte::Value view = epiphyte::Value::Wrap<float>(pixels, {1, 3, 224, 224});  // no copy; pixels must live on
//   std::span<const float> read = image.Data<float>();                              // throws when it isn't float
//
// A reference-counted handle: copies share the data. Reading from several threads is safe. Use MutableData only to fill
// a value before it is shared: its data must not change during a run on another thread.
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
  // An empty handle. As a run's input it means an omitted optional input.
  Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Value();

  // Allocates a tensor with uninitialised memory, 64-byte aligned. Not for strings.
  static Value Tensor(ElementType type, const Shape& shape);
  // Makes a tensor over the application's memory, without a copy. The memory must stay valid as long as the value or a
  // copy of it; `release`, if any, is called when the last copy is destroyed. `bytes` must equal the size of type and
  // shape.
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
  // `element_type` is needed for an empty sequence. Elements must be in host memory: see ToHost.
  static Value Sequence(ElementType element_type, const std::vector<Value>& elements);
  static Value EmptyOptional();

  // --- Device memory; see memory.hpp. Not for strings. All throw OUT_OF_MEMORY when the memory is used up,
  // DEVICE_RESET when the device was lost.

  // Allocates a tensor with uninitialised memory; an empty `memory` means host memory, as Tensor.
  static Value In(const Memory& memory, ElementType type, const Shape& shape);
  // Makes a tensor over existing memory, without a copy. `external` must be at least as large as type and shape need.
  // The caller closes a descriptor afterwards. The memory must live until the last handle and the last run that uses it
  // have ended; `release`, if any, is called then. Throws INVALID_ARGUMENT when the device can't import the memory.
  static Value Import(const Memory& memory, ElementType type, const Shape& shape, const ExternalMemory& external,
                      std::function<void()> release = {});
  // Exports the tensor's memory for an import elsewhere. The caller closes a descriptor. Throws INVALID_ARGUMENT for a
  // tensor that shares its buffer with others, and for a memory that can't export. Imported and large tensors don't
  // share their buffer.
  ExternalMemory Export(HandleType type) const;
  // Copies the tensor to `memory`, or to host memory if `memory` is empty. The source may be in any memory of any
  // plugin.
  Value CopyTo(const Memory& memory) const;
  // Returns a copy in host memory of a tensor in device memory. Returns any other value itself.
  Value ToHost() const;
  // Copies the data of `source` into this tensor's memory. Type and shape must be equal.
  void CopyFrom(const Value& source);
  // Returns the tensor's device memory; empty in host memory and for a value that is not a tensor.
  Memory memory() const;

  explicit operator bool() const { return value_ != nullptr; }
  ValueKind kind() const;  // kEmpty: an empty optional
  bool IsTensor() const { return value_ != nullptr && kind() == ValueKind::kTensor; }

  // --- Tensors only; any other value throws INVALID_ARGUMENT.
  ElementType element_type() const;
  Shape shape() const;
  uint64_t element_count() const;
  uint64_t byte_size() const;
  // Throws INVALID_ARGUMENT for string tensors and for tensors in device memory that is not mappable; see ToHost.
  const void* data() const;
  // Throws INVALID_ARGUMENT for a read-only tensor, as MutableData, CopyFrom and IoBinding::BindOutput do. Read-only
  // tensors are a model's constants in a transform (GraphValue::constant, GraphNode::attribute). CopyTo({}) gives a
  // writable copy.
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

  // Returns the elements of a sequence, or {keys, values} of a map. Any other value throws INVALID_ARGUMENT.
  std::vector<Value> elements() const;

 private:
  friend class Access;
  const void* CheckedData(ElementType type) const;
  void* CheckedMutableData(ElementType type);
  core::Value* value_ = nullptr;  // one reference
};

}  // namespace epiphyte
