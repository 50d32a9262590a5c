// What follows a convolution, normalisation and arithmetic with constants, goes into its weights and bias.
//
//   fuse::FoldIntoConvolutions(editor);   // Conv, BatchNormalization, Mul, Add  →  Conv with new weights and bias
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Conv and ConvTranspose of float with constant weights that nothing else reads take in BatchNormalization as it is in
// inference, and Add, Sub, Mul and Div with one constant, or one for each channel. New weights are rounded once.
//
// `made`, if any, is told after each fold how many bytes of new weights it made. The weights that they replace were
// read for that and stay in memory until the host hears of progress: report some, and a network's weights aren't there
// twice.
void FoldIntoConvolutions(ir::Editor& editor, const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::kit::fuse
