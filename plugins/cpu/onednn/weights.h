// Weights in the layout that a primitive wants, packed once and kept in the context.
#pragma once

#include <functional>

#include "plugins/cpu/onednn/layout.h"

namespace epiphyte::cpu {

struct PackedWeights {
  MemoryDesc desc;
  const void* data = nullptr;  // null: no constant, or nothing that can be packed
  explicit operator bool() const { return data != nullptr; }
};

// Packs constant input `input`, which is `plain` in memory, as `wanted`, and drops the constant. From a context the
// packed bytes are found; those of another layout are converted. `wanted` gives a blocked layout; it is not asked when
// the context's layout is current, because asking oneDNN takes longer than all the rest of loading.
// `offset`: where in the constant, in elements, for a part of it. `drop`: false while other parts are still to be
// packed.
PackedWeights PackWeights(const KernelInit& init, size_t input, std::string_view key, const MemoryDesc& plain,
                          const std::function<MemoryDesc()>& wanted, int64_t offset = 0, bool drop = true);

// A copy in another layout, for a shape that can't do with what is packed.
std::shared_ptr<void> Repack(const PackedWeights& packed, const MemoryDesc& wanted);

}  // namespace epiphyte::cpu
