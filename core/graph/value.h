// Value: data at run time. It is a tensor, a string tensor, a sequence, a map, or an empty optional.
//
// Values are shared through ValuePtr, and immutable once the code that filled them has passed them on. Tensor memory is
// the host allocator's (64-byte aligned), an application's that wrapped it, a constant's (read-only), or a device's
// (data() is then null). A value contains its EpValueView, so handing it to a plugin costs nothing.
//
//   ValuePtr x = Value::Tensor(DataType::kFloat, {1, 3});
//   float* data = static_cast<float*>(x->mutable_data());
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/constant.h"
#include "core/graph/device_storage.h"
#include "core/graph/type.h"
#include "epiphyte/ep_value.h"

namespace epiphyte::core {

class BlockCache;
class MemoryBudget;
class Value;

// Intrusive reference; one pointer wide, so that the executor's slots stay small.
class ValuePtr {
 public:
  ValuePtr() = default;
  ValuePtr(std::nullptr_t) {}
  // Takes over an existing reference.
  static ValuePtr Adopt(Value* value);
  // Adds a reference.
  static ValuePtr Share(Value* value);
  ValuePtr(const ValuePtr& other);
  ValuePtr(ValuePtr&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  ValuePtr& operator=(ValuePtr other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~ValuePtr();

  Value* get() const { return value_; }
  Value* operator->() const { return value_; }
  Value& operator*() const { return *value_; }
  explicit operator bool() const { return value_ != nullptr; }
  // Gives the reference to the caller.
  Value* Detach() { return std::exchange(value_, nullptr); }

 private:
  Value* value_ = nullptr;
};

class Value {
 public:
  // Uninitialised memory. Throws INVALID_ARGUMENT on a negative dim, and FAIL when there is no memory or `budget`
  // doesn't allow it. `budget` may be null.
  static ValuePtr Tensor(DataType type, std::span<const int64_t> dims, MemoryBudget* budget = nullptr);
  // Wraps the application's memory. `release` (may be empty) is called when the last reference is released.
  static ValuePtr Wrap(DataType type, std::span<const int64_t> dims, void* data, uint64_t bytes,
                       std::function<void()> release);
  static ValuePtr Strings(std::span<const int64_t> dims, std::vector<std::string> strings);
  // Elements of sequences and maps must be in host memory.
  static ValuePtr Sequence(DataType element_type, std::vector<ValuePtr> elements);
  static ValuePtr Map(ValuePtr keys, ValuePtr values);
  static ValuePtr EmptyOptional();
  // Shares the constant's memory, so it is read-only.
  static ValuePtr FromConstant(const ConstantPtr& constant);
  // A copy of a numeric tensor in its own host memory. Throws INVALID_ARGUMENT for strings and for a tensor in device
  // memory.
  static ValuePtr CopyOf(const Value& tensor, MemoryBudget* budget = nullptr);
  // A numeric tensor in a device's memory. Throws INVALID_ARGUMENT when it is larger than `storage`.
  static ValuePtr OnDevice(DataType type, std::span<const int64_t> dims, std::shared_ptr<DeviceStorage> storage);

  // True when there is exactly one reference.
  bool IsUnique() const { return references_.load(std::memory_order_acquire) == 1; }
  EpTypeKind kind() const { return view_.kind; }
  bool IsTensor() const { return view_.kind == EP_KIND_TENSOR; }
  bool IsEmptyOptional() const { return view_.kind == EP_KIND_UNKNOWN; }
  DataType type() const { return static_cast<DataType>(tensor_.element_type); }  // valid for tensors
  std::span<const int64_t> dims() const { return {tensor_.dims, tensor_.rank}; }
  uint64_t element_count() const { return tensor_.element_count; }
  uint64_t byte_size() const { return tensor_.byte_size; }
  const void* data() const { return tensor_.data; }
  // The data belongs to a constant, which may be a model's weights in a mapped file.
  bool IsReadOnly() const;
  // Throws INVALID_ARGUMENT for a read-only tensor.
  void* mutable_data();
  template <typename T>
  const T* data_as() const {
    return static_cast<const T*>(tensor_.data);
  }
  std::string string_at(uint64_t index) const;
  const std::vector<ValuePtr>& elements() const;  // elements of a sequence; {keys, values} of a map

  bool IsOnDevice() const { return tensor_.buffer != nullptr; }
  const std::shared_ptr<DeviceStorage>& storage() const;  // null in host memory

  const EpValueView* abi() const { return &view_; }
  static Value* FromAbi(const EpValueView* view);  // inverse of abi()

 private:
  friend class ValuePtr;
  struct Extras;  // fields that plain tensors don't need

  Value() = default;
  ~Value();
  // `cache` may be null.
  static Value* New(uint64_t data_bytes, const std::shared_ptr<BlockCache>* cache = nullptr);
  static void Delete(Value* value);
  void SetTensor(DataType type, std::span<const int64_t> dims, const void* data, uint64_t bytes);
  Extras& MutableExtras();

  static constexpr size_t kInlineRank = 6;
  EpValueView view_{};  // first, for FromAbi and for arrays of values that are handed out as arrays of views
  EpTensorView tensor_{};
  std::array<int64_t, kInlineRank> inline_dims_{};
  std::atomic<uint32_t> references_{1};
  std::unique_ptr<Extras> extras_;
};

// Throws INVALID_ARGUMENT, naming `what`, for a tensor in device memory. Call it before reading data().
void RequireOnHost(const Value& value, std::string_view what);

// A constant with the tensor's data. Strings are copied. Other data is shared with the value and must not change from
// then on. Throws INVALID_ARGUMENT for a tensor in device memory.
ConstantPtr ToConstant(const ValuePtr& tensor);

}  // namespace epiphyte::core
