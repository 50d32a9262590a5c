// Stacks per-iteration tensors into one, and splits it again: the scan inputs and outputs of Loop and Scan.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/graph/run_state.h"
#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// Adds `what` to the beginning of the message of an error from `body`.
template <typename Body>
auto NamingErrors(std::string_view what, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw error.WithMessage(fmt::format("{}: {}", what, error.message()));
  }
}

// Returns a tensor with a new dimension of size slices.size() at `axis`. All slices must have one type and shape, else
// INVALID_ARGUMENT. Without slices the shape comes from `slice_type`; unknown dimensions become 0. Releases the slices.
ValuePtr StackSlices(std::vector<ValuePtr>& slices, int64_t axis, const Type* slice_type, std::string_view what,
                     RunState& run);

// Returns slice `index` of `tensor` along `axis`, without that dimension.
ValuePtr TakeSlice(const Value& tensor, int64_t axis, int64_t index, RunState& run);

// Returns a tensor of zeros, or of empty strings.
ValuePtr Zeros(DataType type, const std::vector<int64_t>& dims, RunState& run);

}  // namespace epiphyte::core
