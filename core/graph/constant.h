// Constant: an immutable tensor in memory, in a mapped file, or in a model that is viewed in place. Shared between
// graphs, so that taking a partition copies no weights.
//
// Bytes in a model's file often lie at addresses that the type's size doesn't divide. What a plugin is shown is
// aligned, so such a constant is copied, but not before somebody asks for its data, and until everybody is through with
// it: else a model's weights would be in memory twice while a plugin packs them.
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
  // Views `bytes` bytes at `data`, which `owner` keeps alive. `bytes` must be what type and dims need: else
  // INVALID_GRAPH. Not for strings.
  static ConstantPtr View(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
                          std::shared_ptr<const void> owner);
  // The same for data that may be at any address, and for large ones worth while only if `owner` isn't null.
  static ConstantPtr ViewOfAnyAlignment(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
                                        std::shared_ptr<const void> owner);
  static ConstantPtr Copy(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes);
  static ConstantPtr Strings(std::vector<int64_t> dims, std::vector<std::string> strings);

  DataType type() const { return static_cast<DataType>(view_.element_type); }
  const std::vector<int64_t>& dims() const { return dims_; }
  // Aligned; valid as long as the constant, or until Drop.
  const void* data() const { return lent()->data; }
  // The same where they are, at any address: for memcpy and the like, and to tell equal constants by.
  const void* bytes() const { return misaligned_ != nullptr ? misaligned_ : view_.data; }
  uint64_t byte_size() const { return view_.byte_size; }
  uint64_t element_count() const { return view_.element_count; }
  const std::vector<std::string>& strings() const { return strings_; }

  // Its data is valid as long as the constant: nothing is dropped any more.
  const EpTensorView* abi() const {
    keeps_copy_.store(true, std::memory_order_relaxed);
    return lent();
  }
  // Its data is valid until Drop.
  const EpTensorView* lent() const {
    if (misaligned_ != nullptr) Align();
    return &view_;
  }
  // Frees the aligned copy of a constant of any alignment, unless abi() was asked for; the next who wants the data gets
  // a new one. For the one who knows that nobody reads what data() and lent() gave: none of these may be called
  // meanwhile.
  void Drop() const;

  Constant(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
           std::shared_ptr<const void> owner);
  Constant(std::vector<int64_t> dims, std::vector<std::string> strings);
  Constant(const Constant&) = delete;
  Constant& operator=(const Constant&) = delete;

 private:
  void Align() const;  // [any thread]

  std::vector<int64_t> dims_;
  std::shared_ptr<const void> owner_;  // of misaligned_ if there is one, else of view_.data
  std::vector<std::string> strings_;
  std::vector<EpString> string_views_;
  mutable EpTensorView view_{};
  const void* misaligned_ = nullptr;
  mutable std::shared_ptr<const void> copy_;  // of them; null until asked for
  mutable std::atomic<bool> keeps_copy_{false};
};

// Where an initializer's bytes came from, if outside the model.
struct ExternalLocation {
  std::string file;
  uint64_t offset = 0;
  uint64_t length = 0;
};

}  // namespace epiphyte::core
