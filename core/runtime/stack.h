// Stacking of per-iteration tensors into one, and taking it apart: the scan inputs and outputs of Loop and Scan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// A tensor with a new dimension of size slices.size() at `axis`; all slices have one type and shape, else EP_FAIL.
// Without slices the shape comes from `slice_type` (unknown dimensions become 0).
ValuePtr StackSlices(std::span<const ValuePtr> slices, int64_t axis, const Type* slice_type, std::string_view what);

// The slice `index` of `tensor` along `axis`, without that dimension.
ValuePtr TakeSlice(const Value& tensor, int64_t axis, int64_t index);

}  // namespace epiphyte::core
