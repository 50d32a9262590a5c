#include "plugins/cpu/onednn/split_panels.h"

#include "plugins/cpu/kernel/dispatch.h"

namespace epiphyte::cpu {

void RunSplitPanels(const simd::SplitProduct& product, const PackedWeights& weights, int64_t column) {
  const int64_t begin = column * product.depth;
  if (weights.parts) return simd::RunSplitProduct(product, static_cast<const uint16_t*>(weights.data) + begin * 2);
  Dispatch<Float16, BFloat16>(weights.type, "a product with weights", [&]<typename T>() {
    simd::RunSplitProduct(product, static_cast<const T*>(weights.data) + begin);
  });
}

}  // namespace epiphyte::cpu
