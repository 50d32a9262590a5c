// Constant: an immutable tensor in memory, in a mapped file, or in a model that is viewed in place. Shared between
// graphs, so that taking a partition copies no weights.
//
//   ConstantPtr one = Constant::Copy(DataType::kInt64, {1}, &value, sizeof value);
#pragma once

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
  static ConstantPtr Copy(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes);
  static ConstantPtr Strings(std::vector<int64_t> dims, std::vector<std::string> strings);

  DataType type() const { return static_cast<DataType>(view_.element_type); }
  const std::vector<int64_t>& dims() const { return dims_; }
  const void* data() const { return view_.data; }
  uint64_t byte_size() const { return view_.byte_size; }
  uint64_t element_count() const { return view_.element_count; }
  const std::vector<std::string>& strings() const { return strings_; }

  const EpTensorView* abi() const { return &view_; }

  Constant(DataType type, std::vector<int64_t> dims, const void* data, uint64_t bytes,
           std::shared_ptr<const void> owner);
  Constant(std::vector<int64_t> dims, std::vector<std::string> strings);
  Constant(const Constant&) = delete;
  Constant& operator=(const Constant&) = delete;

 private:
  std::vector<int64_t> dims_;
  std::shared_ptr<const void> owner_;
  std::vector<std::string> strings_;
  std::vector<EpString> string_views_;
  EpTensorView view_{};
};

// Where an initializer's bytes came from, if outside the model.
struct ExternalLocation {
  std::string file;
  uint64_t offset = 0;
  uint64_t length = 0;
};

}  // namespace epiphyte::core
