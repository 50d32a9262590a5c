// Value: data at run time: a tensor, a string tensor, a sequence, a map, an empty optional.
//
// Values are shared through ValuePtr and immutable once they left the code that filled them. Tensor memory comes from
// the host's allocator (64-byte aligned), or belongs to the application that wrapped it, to a constant, which is
// read-only, or to a device: then data() is null. A value carries its EpValueView, so handing it to a plugin costs
// nothing.
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

// Intrusive reference: one pointer wide, so that the executor's slots stay small.
class ValuePtr {
 public:
  ValuePtr() = default;
  ValuePtr(std::nullptr_t) {}
  // Takes over one reference.
  static ValuePtr Adopt(Value* value);
  // Adds a reference of its own.
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
  // Uninitialised memory. Throws INVALID_ARGUMENT on a negative dim, FAIL when there is no memory, or when `budget`,
  // which may be null, may not use so much.
  static ValuePtr Tensor(DataType type, std::span<const int64_t> dims, MemoryBudget* budget = nullptr);
  // The application's memory; `release` (may be empty) is called when the last reference goes.
  static ValuePtr Wrap(DataType type, std::span<const int64_t> dims, void* data, uint64_t bytes,
                       std::function<void()> release);
  static ValuePtr Strings(std::span<const int64_t> dims, std::vector<std::string> strings);
  // Elements of sequences and maps are in host memory.
  static ValuePtr Sequence(DataType element_type, std::vector<ValuePtr> elements);
  static ValuePtr Map(ValuePtr keys, ValuePtr values);
  static ValuePtr EmptyOptional();
  // Shares the constant's memory, so it is read-only.
  static ValuePtr FromConstant(const ConstantPtr& constant);
  // A tensor of the same numbers in host memory of its own. Throws INVALID_ARGUMENT for strings and on a device.
  static ValuePtr CopyOf(const Value& tensor, MemoryBudget* budget = nullptr);
  // A tensor of numbers in a device's memory. Throws INVALID_ARGUMENT when it needs more than `storage` has.
  static ValuePtr OnDevice(DataType type, std::span<const int64_t> dims, std::shared_ptr<DeviceStorage> storage);

  // There is one reference.
  bool IsUnique() const { return references_.load(std::memory_order_acquire) == 1; }
  EpTypeKind kind() const { return view_.kind; }
  bool IsTensor() const { return view_.kind == EP_KIND_TENSOR; }
  bool IsEmptyOptional() const { return view_.kind == EP_KIND_UNKNOWN; }
  DataType type() const { return static_cast<DataType>(tensor_.element_type); }  // tensors
  std::span<const int64_t> dims() const { return {tensor_.dims, tensor_.rank}; }
  uint64_t element_count() const { return tensor_.element_count; }
  uint64_t byte_size() const { return tensor_.byte_size; }
  const void* data() const { return tensor_.data; }
  // The data is a constant's, which may be a model's weights in a mapped file.
  bool IsReadOnly() const;
  // Throws INVALID_ARGUMENT for a read-only tensor.
  void* mutable_data();
  template <typename T>
  const T* data_as() const {
    return static_cast<const T*>(tensor_.data);
  }
  std::string string_at(uint64_t index) const;
  const std::vector<ValuePtr>& elements() const;  // sequence; map: {keys, values}

  bool IsOnDevice() const { return tensor_.buffer != nullptr; }
  const std::shared_ptr<DeviceStorage>& storage() const;  // null in host memory

  const EpValueView* abi() const { return &view_; }
  static Value* FromAbi(const EpValueView* view);  // of a view that abi() gave

 private:
  friend class ValuePtr;
  struct Extras;  // what plain tensors don't need

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

// For whoever reads data(): throws INVALID_ARGUMENT, which names `what`, for a tensor in a device's memory.
void RequireOnHost(const Value& value, std::string_view what);

// A constant with the tensor's data: strings are copied, everything else is shared with the value, which nobody may
// change from then on. Throws INVALID_ARGUMENT for a tensor in a device's memory.
ConstantPtr ToConstant(const ValuePtr& tensor);

}  // namespace epiphyte::core
