// A residual sum and its normalisation as one operator, SkipNormalization of the kit's domain (operators.hpp), which
// gives both: transformers read the sum again behind the next block.
//
//   fuse::FuseSkipNormalizations(editor);   // s = Add(x, skip), y = LayerNormalization(s, scale, bias)
//                                           // →  y, s = SkipNormalization<axis, epsilon, rms>(x, skip, scale, bias)
//
// Runs behind FuseNormalizations. Providers whose products add residuals choose between the two.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct SkipNormalizationOptions {
  std::function<bool(EpElementType type)> takes_type;  // empty: float alone
};

// Of operands of one shape. Where something else reads the sum, scale and bias are constants or inputs.
void FuseSkipNormalizations(ir::Editor& editor, const SkipNormalizationOptions& options = {});

}  // namespace epiphyte::kit::fuse
