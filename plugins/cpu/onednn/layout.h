// Layout: oneDNN's description of a tensor's memory that is not row-major.
#pragma once

#include <memory>
#include <optional>

#include "plugins/cpu/kernel/tensor.h"
#include "plugins/cpu/onednn/axis_order.h"
#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

struct Layout {
  dnnl::memory::desc desc;
  std::optional<AxisOrder> order;  // axis order of `desc`
};

// Returns null when `desc` is row-major without padding.
std::shared_ptr<const Layout> MakeLayout(const dnnl::memory::desc& desc);
// Makes a layout from an order. `order` must hold `dims`, and no dimension is 0. Null for row-major.
std::shared_ptr<const Layout> MakeLayout(const AxisOrder& order, ElementType type, std::span<const int64_t> dims);
// Nullopt when the memory has padding, or an order that AxisOrder can't express.
std::optional<AxisOrder> OrderOf(const Tensor& tensor);

// Convert a descriptor to text for a context, and back. The text is "" for a descriptor that can't be read back. Text
// from a file is untrusted: ParseDesc returns false unless it describes a tensor of exactly `dims` and `type` with
// memory of at most `bytes`.
std::string DescToText(const MemoryDesc& desc);
bool ParseDesc(std::string_view text, ElementType type, std::span<const int64_t> dims, uint64_t bytes,
               MemoryDesc* desc);

// Copies a tensor in any layout to row-major memory, once.
void ReorderToRowMajor(const Tensor& from, void* to);

// Copies between two layouts of the same logical tensor, once. Use ReorderCall for repeated copies.
void Reorder(const dnnl::memory::desc& from_desc, const void* from, const dnnl::memory::desc& to_desc, void* to);

}  // namespace epiphyte::cpu
