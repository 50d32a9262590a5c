// FoldIntoConvolutions: folds normalisation and constant arithmetic after a convolution into the weights and bias.
//
//   fuse::FoldIntoConvolutions(editor);   // Conv, BatchNormalization, Mul, Add  →  Conv with new weights and bias
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Handles Conv and ConvTranspose of float with constant weights that no other node reads. Folds BatchNormalization in
// inference, and Add, Sub, Mul and Div with one constant or one for each channel. New weights are rounded once.
//
// `made`, if any, is called after each fold with the number of bytes of new weights. Report some progress to the host
// there: the host keeps the replaced weights in memory until it hears of progress, so without it a network's weights
// would be there twice.
void FoldIntoConvolutions(ir::Editor& editor, const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::kit::fuse
