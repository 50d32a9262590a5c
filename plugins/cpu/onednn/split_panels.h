// Split bfloat16 GEMMs with either form of packed weights (split.h, split_window.h).
//
//   RunSplitPanels(product, packed, column);   // columns from `column` on
#pragma once

#include "plugins/cpu/onednn/weights.h"
#include "plugins/cpu/simd/gemm/split_product.h"

namespace epiphyte::cpu {

// `weights`: bfloat16 parts or 16-bit numbers, in panels of product.depth rows. `column`: a multiple of
// simd::kSplitPanel.
void RunSplitPanels(const simd::SplitProduct& product, const PackedWeights& weights, int64_t column);

}  // namespace epiphyte::cpu
