// Gemm, from what exporters write as a product and a sum.
//
//   fuse::FuseGemms(editor);   // Add(MatMul(a, b), bias)  →  Gemm(a, b, bias)
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// MatMul of two matrices, and Gemm without a C, take what is added to them as C, if it is no larger than the product.
void FuseGemms(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
