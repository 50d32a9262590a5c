// FuseChannelNormalizations: recognises instance and group normalisation that exporters wrote as several operators.
//
//   fuse::FuseChannelNormalizations(editor);
//   // the arithmetic of normalization.hpp over the dimensions behind [batch, channel] →  InstanceNormalization
//   // Reshape to [batch, groups, …], InstanceNormalization or its arithmetic, Reshape back, Mul, Add (PyTorch before
//   // opset 18) →  GroupNormalization<num_groups>
//
// It handles floats with a constant scale and bias for each channel.
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Makes ONNX's InstanceNormalization of opset 6 and GroupNormalization of opset 21.
void FuseChannelNormalizations(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
