// Removes DequantizeLinear of constants, so that no run repeats that work.
//
//   fuse::FuseBlockedWeights(editor, {.takes = HasKernel});    // MatMul(a, DequantizeLinear(w))  →  MatMulNBits(a, w)
//   fuse::FoldDequantized(editor, most_bytes);                 // DequantizeLinear(w)  →  a constant of floats
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct BlockedWeightsOptions {
  // Returns whether a MatMulNBits may replace a product; empty: all may. The node is not part of the graph yet, but its
  // values are.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
};

// Replaces MatMul, and Gemm with at most a bias, by MatMulNBits of com.microsoft, if the second operand is a
// dequantised constant matrix of 2, 4 or 8 bits. The matrix has a scale for each block of its rows; the block size is a
// power of two of at least 16. The weights keep their size.
void FuseBlockedWeights(ir::Editor& editor, const BlockedWeightsOptions& options = {});

// Replaces each DequantizeLinear of constants by its result (float or float16), if that takes at most `most_bytes`.
// `made`, if any, is called with the number of bytes after each one, as in FoldIntoConvolutions (fold.hpp).
void FoldDequantized(ir::Editor& editor, uint64_t most_bytes, const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::kit::fuse
