// Shared code of operators with indices on the device. Indices are int32 or int64; negative ones count from the end.
// Values of indices are seen only on the device, which cannot throw. An index out of range never accesses memory
// outside a tensor: a read gives 0, and a write is dropped. The CPU plugin reports an error instead. Indices that the
// host knows are checked.
#pragma once

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// 32-bit words of an index, as shaders read them.
inline uint32_t IndexWords(EpElementType type) { return type == EP_TYPE_INT64 ? 2 : 1; }

inline void CheckIndex(int64_t at, int64_t dim) {
  if (at < -dim || at >= dim)
    kit::FailArgument("indices: index ", at, " found, a value in [", -dim, ", ", dim - 1, "] expected");
}

// Checks indices into one axis, if the host knows them.
inline void CheckIndices(const HostTensor* indices, int64_t dim) {
  if (indices == nullptr) return;
  for (int64_t at : indices->ints) CheckIndex(at, dim);
}

// Throws if the result has elements, but x has none that indices could name.
inline void CheckIndexed(const Dims& x, const Dims& result) {
  if (x.Count() == 0 && result.Count() != 0)
    kit::FailArgument("indices into an input of shape ", kit::ShapeText(x), " found, elements expected");
}

// The units in which a shader moves runs of contiguous elements: bytes of a unit, and units of a run. A unit joins
// elements and has at most `most` bytes.
struct RunUnits {
  uint64_t bytes;
  int64_t run;

  RunUnits(EpElementType type, int64_t elements, uint64_t most) : bytes(kit::ElementBytes(type, 1)), run(elements) {
    for (; bytes < most && run % 2 == 0 && run != 0; bytes *= 2) run /= 2;
  }
};

}  // namespace epiphyte::vulkan
