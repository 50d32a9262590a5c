// TensorReader: TensorProto and SparseTensorProto to constants.
//
// Raw bytes are viewed where they are (Constant::ViewOfAnyAlignment). Typed fields (int32_data and the like) are
// decoded. Whatever a tensor claims is checked before memory is allocated for it, so a small file can't ask for a large
// allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/graph/constant.h"
#include "core/onnx/external_data.h"

namespace epiphyte::core {

struct NamedTensor {
  std::string name;
  ConstantPtr constant;
  std::unique_ptr<ExternalLocation> external;  // null: the bytes were in the model
};

class TensorReader {
 public:
  // `owner` keeps the model's bytes alive; null: everything is copied. `external` may be null: external data is then
  // refused.
  TensorReader(std::shared_ptr<const void> owner, ExternalData* external)
      : owner_(std::move(owner)), external_(external) {}

  // `what` names the tensor in messages in case it has no name of its own.
  NamedTensor Read(std::string_view tensor_proto, std::string_view what) const;
  // A SparseTensorProto as a dense tensor. All of a model together may become no more than kMostUnfoldedBytes, and
  // kMostUnfoldedTimes what they have as values.
  NamedTensor ReadSparse(std::string_view sparse_tensor_proto, std::string_view what) const;

  // A view of `size` bytes of the model, or a copy where a view isn't possible.
  ConstantPtr Bytes(DataType type, std::vector<int64_t> dims, const void* data, uint64_t size,
                    const std::shared_ptr<const void>& owner) const;
  const std::shared_ptr<const void>& owner() const { return owner_; }

  static constexpr uint64_t kMostUnfoldedBytes = uint64_t{64} << 20;
  static constexpr uint64_t kMostUnfoldedTimes = 256;

 private:
  void CountUnfolded(uint64_t size, uint64_t values, std::string_view subject) const;

  std::shared_ptr<const void> owner_;
  ExternalData* external_;
  // Of sparse tensors, what may still become dense. Belongs to the thread that reads the model.
  mutable uint64_t unfolded_left_ = kMostUnfoldedBytes;
};

}  // namespace epiphyte::core
