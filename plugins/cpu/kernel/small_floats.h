// Rows of the 16-bit formats, computed in float a block at a time. The blocks stay in the L1 cache, and memory traffic
// is 16 bits per number.
//
//     const SmallFloats<T> small;
//     float block[kFloatBlock];
//     ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
//       small.load(x + at, block, count);
//       …
//       small.store(block, y + at, count);
//     });
#pragma once

#include <algorithm>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/simd/convert/convert.h"

namespace epiphyte::cpu {

inline constexpr int64_t kFloatBlock = 512;

template <typename Body>
void ForEachFloatBlock(int64_t n, const Body& body) {
  for (int64_t at = 0; at < n; at += kFloatBlock) body(at, std::min(kFloatBlock, n - at));
}

// Conversion of Float16 or BFloat16: `load` is exact, `store` rounds to nearest even.
template <typename T>
struct SmallFloats {
  simd::ConvertLoop<T, float> load;
  simd::ConvertLoop<float, T> store;
};

}  // namespace epiphyte::cpu
