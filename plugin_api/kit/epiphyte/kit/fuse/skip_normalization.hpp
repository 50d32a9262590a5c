// FuseSkipNormalizations: fuses a residual sum and its normalisation into one SkipNormalization of the kit's domain
// (operators.hpp). The operator returns both, because transformers read the sum again after the next block.
//
//   fuse::FuseSkipNormalizations(editor);   // s = Add(x, skip), y = LayerNormalization(s, scale, bias)
//                                           // →  y, s = SkipNormalization<axis, epsilon, rms>(x, skip, scale, bias)
//
// A sum behind a GEMM is taken by FuseProducts, which runs before (passes.hpp).
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct SkipNormalizationOptions {
  std::function<bool(EpElementType type)> takes_type;  // empty: only float
};

// The operands must have one shape. If another node reads the sum, scale and bias must be constants or inputs.
void FuseSkipNormalizations(ir::Editor& editor, const SkipNormalizationOptions& options = {});

}  // namespace epiphyte::kit::fuse
