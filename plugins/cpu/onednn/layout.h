// Layout: a tensor's memory as oneDNN describes it, when that isn't row-major.
#pragma once

#include <memory>

#include "plugins/cpu/onednn/compat.h"
#include "plugins/cpu/tensor.h"

namespace epiphyte::cpu {

struct Layout {
  dnnl::memory::desc desc;
};

// Null when `desc` is row-major without padding.
std::shared_ptr<const Layout> MakeLayout(const dnnl::memory::desc& desc);

// Copies a tensor in any layout into row-major memory.
void ReorderToRowMajor(const Tensor& from, void* to);

// Copies between two descriptions of the same logical tensor.
void Reorder(const dnnl::memory::desc& from_desc, const void* from, const dnnl::memory::desc& to_desc, void* to);

}  // namespace epiphyte::cpu
