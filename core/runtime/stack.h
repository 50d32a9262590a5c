// Stacking of per-iteration tensors into one, and taking it apart: the scan inputs and outputs of Loop and Scan.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/graph/run_state.h"
#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// Puts `what` in front of the message of an error that `body` throws.
template <typename Body>
auto NamingErrors(std::string_view what, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw error.WithMessage(fmt::format("{}: {}", what, error.message()));
  }
}

// A tensor with a new dimension of size slices.size() at `axis`; all slices have one type and shape, else EP_FAIL.
// Without slices the shape comes from `slice_type` (unknown dimensions become 0). Lets go of the slices.
ValuePtr StackSlices(std::vector<ValuePtr>& slices, int64_t axis, const Type* slice_type, std::string_view what,
                     RunState& run);

// The slice `index` of `tensor` along `axis`, without that dimension.
ValuePtr TakeSlice(const Value& tensor, int64_t axis, int64_t index, RunState& run);

// A tensor of zeros, or of empty texts.
ValuePtr Zeros(DataType type, const std::vector<int64_t>& dims, RunState& run);

}  // namespace epiphyte::core
