// Checks that the tables of a run make on outputs that a kernel requests.
#pragma once

#include <cstdint>

#include "core/abi/handles.h"

namespace epiphyte::core {

[[noreturn]] inline void NullRunArgument() {
  Fail(StatusCode::kInvalidArgument, "a null pointer was passed to a run function");
}

inline void CheckIndex(const EpRun& run, uint32_t index) {
  if (index >= run.outputs.size()) {
    Fail(StatusCode::kEpFail, "output {} was set, but the kernel has {} outputs", index, run.outputs.size());
  }
  if (run.outputs[index]) Fail(StatusCode::kEpFail, "output {} was set twice", index);
}

inline void CheckShape(const int64_t* dims, uint32_t rank) {
  if (rank > EP_MAX_RANK)
    Fail(StatusCode::kEpFail, "a tensor of rank {} was asked for; at most {} is possible", rank, EP_MAX_RANK);
  if (dims == nullptr && rank != 0) Fail(StatusCode::kEpFail, "a tensor of rank {} was asked for without dims", rank);
}

// Call it after CheckShape. Requires a dense tensor, not of strings, with possible dims. Returns its size in bytes.
inline uint64_t CheckNumbers(EpElementType element_type, const int64_t* dims, uint32_t rank) {
  if (!IsValidDataType(element_type) || element_type == EP_TYPE_STRING) {
    Fail(StatusCode::kInvalidArgument, "a tensor of element type {} was asked for; a type of numbers expected",
         element_type);
  }
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      Fail(StatusCode::kInvalidArgument, "a tensor can't have a dimension of {}; give sizes of 0 or more", dims[i]);
    }
  }
  return DataTypeBytes(static_cast<DataType>(element_type), ElementCount(dims, rank));
}

}  // namespace epiphyte::core
