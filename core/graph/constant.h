// Constant: an immutable tensor in memory, in a mapped file, or in a model that is viewed in place. Shared between
// graphs, so that taking a partition copies no weights.
//
// Bytes in a model's file often lie at addresses that the element type's size doesn't divide, but plugins need aligned
// data. Such a constant is copied when its data is first requested, and the copy is freed when all readers are done. An
// earlier copy would hold a model's weights in memory twice while a plugin packs them.
//
//   ConstantPtr one = Constant::Copy(DataType::kInt64, {1}, &value, sizeof value);
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/type.h"
#include "epiphyte/ep_value.h"

namespace epiphyte::core {

class Constant;
using ConstantPtr = std::shared_ptr<const Constant>;

class Constant {
 public:
  // Views `bytes` bytes at `data`, which `owner` keeps alive. Throws INVALID_GRAPH unless `bytes` is the size of type
  // and dims. Not for strings.
  static ConstantPtr View(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
                          std::shared_ptr<const void> owner);
  // Like View, for data at any address. For large data this saves a copy only if `owner` isn't null.
  static ConstantPtr ViewOfAnyAlignment(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
                                        std::shared_ptr<const void> owner);
  static ConstantPtr Copy(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes);
  static ConstantPtr Strings(std::vector<int64_t> dims, std::vector<std::string> strings);

  DataType type() const { return static_cast<DataType>(view_.element_type); }
  const std::vector<int64_t>& dims() const { return dims_; }
  // Aligned data; valid as long as the constant, or until Drop.
  const void* data() const { return lent()->data; }
  // The data at its original address, which may be misaligned. For memcpy and for comparing constants.
  const void* bytes() const { return misaligned_ != nullptr ? misaligned_ : view_.data; }
  uint64_t byte_size() const { return view_.byte_size; }
  uint64_t element_count() const { return view_.element_count; }
  const std::vector<std::string>& strings() const { return strings_; }

  // A view with data that is valid as long as the constant: Drop frees nothing from now on.
  const EpTensorView* abi() const {
    keeps_copy_.store(true, std::memory_order_relaxed);
    return lent();
  }
  // A view with data that is valid until Drop.
  const EpTensorView* lent() const {
    if (misaligned_ != nullptr) Align();
    return &view_;
  }
  // Frees the aligned copy of a misaligned constant, unless abi() was called. The next access to the data makes a new
  // copy. Call it only when pointers from data() and lent() are no longer in use. None of these functions may run at
  // the same time.
  void Drop() const;

  Constant(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
           std::shared_ptr<const void> owner);
  Constant(std::vector<int64_t> dims, std::vector<std::string> strings);
  Constant(const Constant&) = delete;
  Constant& operator=(const Constant&) = delete;

 private:
  void Align() const;  // [any thread]

  std::vector<int64_t> dims_;
  std::shared_ptr<const void> owner_;  // owner of misaligned_ if that is set, else of view_.data
  std::vector<std::string> strings_;
  std::vector<EpString> string_views_;
  mutable EpTensorView view_{};
  const void* misaligned_ = nullptr;
  mutable std::shared_ptr<const void> copy_;  // aligned copy of misaligned_; null until requested
  mutable std::atomic<bool> keeps_copy_{false};
};

// Location of an initializer's bytes that are outside the model file.
struct ExternalLocation {
  std::string file;
  uint64_t offset = 0;
  uint64_t length = 0;
};

}  // namespace epiphyte::core
