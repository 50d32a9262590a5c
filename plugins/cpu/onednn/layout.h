// Layout: a tensor's memory as oneDNN describes it, when that isn't row-major.
#pragma once

#include <memory>
#include <optional>

#include "plugins/cpu/kernel/tensor.h"
#include "plugins/cpu/onednn/axis_order.h"
#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

struct Layout {
  dnnl::memory::desc desc;
  std::optional<AxisOrder> order;  // of `desc`
};

// Null when `desc` is row-major without padding.
std::shared_ptr<const Layout> MakeLayout(const dnnl::memory::desc& desc);
// As above. `order` holds `dims`, of which none is 0.
std::shared_ptr<const Layout> MakeLayout(const AxisOrder& order, ElementType type, std::span<const int64_t> dims);
// Nullopt when memory holds more than the elements, or in a way that AxisOrder can't say.
std::optional<AxisOrder> OrderOf(const Tensor& tensor);

// A descriptor as text for a context, and back. "" for one that can't be read back. Text from a file is hostile: Parse
// returns false unless it describes a tensor of exactly `dims` and `type` whose memory fits into `bytes`.
std::string DescToText(const MemoryDesc& desc);
bool ParseDesc(std::string_view text, ElementType type, std::span<const int64_t> dims, uint64_t bytes,
               MemoryDesc* desc);

// Copies a tensor in any layout into row-major memory, once.
void ReorderToRowMajor(const Tensor& from, void* to);

// Copies between two descriptions of the same logical tensor, once: what does it again and again has a ReorderCall.
void Reorder(const dnnl::memory::desc& from_desc, const void* from, const dnnl::memory::desc& to_desc, void* to);

}  // namespace epiphyte::cpu
