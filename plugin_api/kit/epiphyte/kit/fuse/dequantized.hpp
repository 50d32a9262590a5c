// Constants that a DequantizeLinear makes floats of, so that no run does that again.
//
//   fuse::FuseBlockedWeights(editor, {.takes = HasKernel});    // MatMul(a, DequantizeLinear(w))  →  MatMulNBits(a, w)
//   fuse::FoldDequantized(editor, most_bytes);                 // DequantizeLinear(w)  →  a constant of floats
//
// After FuseQuantized (quantized.hpp), which wants the nodes for its units; before all that reads constants.
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct BlockedWeightsOptions {
  // Whether a MatMulNBits may take the place of a product; empty: every one. It isn't part of the graph yet, but its
  // values are.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
};

// MatMul, and Gemm with nothing but a bias, by a constant matrix of 2, 4 or 8 bits with a scale for each block of its
// rows (a power of two, at least 16): MatMulNBits of com.microsoft, whose weights stay as small as they are.
void FuseBlockedWeights(ir::Editor& editor, const BlockedWeightsOptions& options = {});

// Each DequantizeLinear of constants whose floats (float or float16) take at most `most_bytes` becomes those. `made`,
// if any, is told after each how many bytes it made, as FoldIntoConvolutions does (fold.hpp).
void FoldDequantized(ir::Editor& editor, uint64_t most_bytes, const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::kit::fuse
