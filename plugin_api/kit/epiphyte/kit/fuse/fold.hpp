// What follows a convolution, normalisation and arithmetic with constants, goes into its weights and bias.
//
//   fuse::FoldIntoConvolutions(editor);   // Conv, BatchNormalization, Mul, Add  →  Conv with new weights and bias
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Conv and ConvTranspose of float with constant weights that nothing else reads take in BatchNormalization as it is in
// inference, and Add, Sub, Mul and Div with one constant, or one for each channel. New weights are rounded once.
void FoldIntoConvolutions(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
