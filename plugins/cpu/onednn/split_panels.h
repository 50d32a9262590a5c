// Products by parts of bfloat16 with packed weights, whichever form those have (split.h, split_window.h).
//
//   RunSplitPanels(product, packed, column);   // of the columns from `column` on
#pragma once

#include "plugins/cpu/onednn/weights.h"
#include "plugins/cpu/simd/split_product.h"

namespace epiphyte::cpu {

// `weights`: parts, or of 16 bits, in panels of product.depth rows. `column`: a multiple of simd::kSplitPanel.
void RunSplitPanels(const simd::SplitProduct& product, const PackedWeights& weights, int64_t column);

}  // namespace epiphyte::cpu
