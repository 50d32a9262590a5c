// Placement of tensors. A storage is separate memory: that of an input, an output or a constant, or memory that the
// compiler places. The compiler places a storage in external scratch memory or in the scratchpad, from the layer that
// writes it to the last one that reads it. A view is a tensor in a storage: elements of one byte with a stride for each
// dimension. Tensors that only reinterpret the same bytes (Reshape) share a storage.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

using StorageId = uint32_t;
inline constexpr StorageId kNoStorage = UINT32_MAX;

struct Storage {
  enum Kind { kInput, kOutput, kConstant, kInternal } kind = kInternal;
  uint32_t index = 0;        // index of the input or output
  uint64_t size = 0;         // bytes
  uint64_t constant_at = 0;  // constants: offset in the weights
};

struct View {
  StorageId storage = kNoStorage;
  int64_t offset = 0;
  std::vector<int64_t> dims, strides;

  bool RowMajor() const {
    int64_t expected = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i] != 1 && strides[i] != expected) return false;
      expected *= dims[i];
    }
    return true;
  }
};

inline std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

// A decision of the plan: offset in the region, or in the scratchpad.
struct Placement {
  bool resident = false;
  uint32_t region = kScratch;
  uint64_t offset = 0;
};

}  // namespace epiphyte::npusim
