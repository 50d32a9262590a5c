// Layout: a tensor's memory as oneDNN describes it, when that isn't row-major.
#pragma once

#include <memory>
#include <optional>

#include "plugins/cpu/onednn/axis_order.h"
#include "plugins/cpu/onednn/compat.h"
#include "plugins/cpu/tensor.h"

namespace epiphyte::cpu {

struct Layout {
  dnnl::memory::desc desc;
  std::optional<AxisOrder> order;  // of `desc`
};

// What a blocked descriptor says, independent of oneDNN's version.
struct BlockedDesc {
  std::vector<int64_t> dims, padded, strides, block_sizes, block_dims;
  bool blocked = false;
  bool extra = false;  // compensation data and the like: not described here
};
BlockedDesc Describe(const MemoryDesc& desc);

// Null when `desc` is row-major without padding.
std::shared_ptr<const Layout> MakeLayout(const dnnl::memory::desc& desc);

// Copies a tensor in any layout into row-major memory.
void ReorderToRowMajor(const Tensor& from, void* to);

// Copies between two descriptions of the same logical tensor.
void Reorder(const dnnl::memory::desc& from_desc, const void* from, const dnnl::memory::desc& to_desc, void* to);

}  // namespace epiphyte::cpu
