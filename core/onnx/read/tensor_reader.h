// TensorReader: reads TensorProto and SparseTensorProto messages into constants.
//
// Raw bytes are viewed in place (Constant::ViewOfAnyAlignment). Typed fields (int32_data and the like) are decoded. All
// sizes in a tensor are checked before memory is allocated for it, so a small file can't cause a large allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/graph/constant.h"
#include "core/onnx/read/external_data.h"

namespace epiphyte::core {

struct NamedTensor {
  std::string name;
  ConstantPtr constant;
  std::unique_ptr<ExternalLocation> external;  // null: the bytes were in the model
};

class TensorReader {
 public:
  // `owner` keeps the model's bytes alive; null: all data is copied. `external` may be null: external data is then
  // refused.
  TensorReader(std::shared_ptr<const void> owner, ExternalData* external)
      : owner_(std::move(owner)), external_(external) {}

  // `what` names the tensor in messages if it has no name.
  NamedTensor Read(std::string_view tensor_proto, std::string_view what) const;
  // Converts a SparseTensorProto to a dense tensor. All dense tensors of a model together may have kMostUnfoldedBytes
  // bytes plus kMostUnfoldedTimes times the bytes of their sparse values.
  NamedTensor ReadSparse(std::string_view sparse_tensor_proto, std::string_view what) const;

  // A view of `size` bytes of the model, or a copy when no view is possible.
  ConstantPtr Bytes(DataType type, std::vector<int64_t> dims, const void* data, uint64_t size,
                    const std::shared_ptr<const void>& owner) const;
  const std::shared_ptr<const void>& owner() const { return owner_; }

  static constexpr uint64_t kMostUnfoldedBytes = uint64_t{64} << 20;
  static constexpr uint64_t kMostUnfoldedTimes = 256;

 private:
  void CountUnfolded(uint64_t size, uint64_t values, std::string_view subject) const;

  std::shared_ptr<const void> owner_;
  ExternalData* external_;
  // Bytes that sparse tensors may still unfold to. Used only by the thread that reads the model.
  mutable uint64_t unfolded_left_ = kMostUnfoldedBytes;
};

}  // namespace epiphyte::core
