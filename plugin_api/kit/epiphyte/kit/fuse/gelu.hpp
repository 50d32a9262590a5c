// FuseGelu: recognises Gelu written as arithmetic, in the exact form with Erf or the approximation with Tanh. Factors
// may be in any order, and constants may have half precision.
//
//   fuse::FuseGelu(editor);
//   // 0.5 * x * (1 + erf(x / sqrt(2)))                       →  Gelu<approximate="none">(x)
//   // 0.5 * x * (1 + tanh(sqrt(2/π) * (x + 0.044715 * x³)))  →  Gelu<approximate="tanh">(x)
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Makes ONNX's Gelu of opset 20.
void FuseGelu(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
