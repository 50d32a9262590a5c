// FuseNormalizations: recognises layer and RMS normalisation written as arithmetic.
//
//   fuse::FuseNormalizations(editor);
//   // (x - mean) / sqrt(mean((x - mean)²) + epsilon) * scale + bias
//   //     →  LayerNormalization<axis, epsilon>(x, scale, bias)
//   // x / sqrt(mean(x²) + epsilon) * scale
//   //     →  RMSNormalization<axis, epsilon>(x, scale)
//
// It covers the last axes; scale and bias have their shape. These spellings are recognised: squares as Pow or Mul;
// roots as Sqrt or Pow; reciprocals as Reciprocal, Div or Pow; axes as attribute or input; statistics in float between
// casts; and TensorFlow's form x * s + (bias - mean * s).
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Makes ONNX's LayerNormalization of opset 17 and RMSNormalization of opset 23.
void FuseNormalizations(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
