// FuseGemms: makes Gemm from MatMul and Add.
//
//   fuse::FuseGemms(editor);   // Add(MatMul(a, b), bias)  →  Gemm(a, b, bias)
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// MatMul of two matrices, and Gemm without C, take the value added to them as C, if that is no larger than the result.
void FuseGemms(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
