// FuseRotaryEmbedding: recognises rotary position embeddings written as arithmetic on [batch, heads, sequence, size].
//
//   fuse::FuseRotaryEmbedding(editor);
//   // x * cos + Concat(-x[size/2:], x[:size/2]) * sin                            →  RotaryEmbedding(x, cos', sin')
//   // Concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin), of halves                →  the same
//   // the latter with x[0::2] and x[1::2], interleaved again                     →  RotaryEmbedding<interleaved=1>
//   // Concat(RotaryEmbedding(x[:n]), x[n:])                        →  RotaryEmbedding<rotary_embedding_dim=n>(x, …)
//
// cos' and sin' have the shape that the operator takes, [batch, sequence, size / 2]. A Slice and a Squeeze make them;
// all embeddings with the same angles share these. In the first form, the two halves of cos and sin must be provably
// equal: a constant, or Concat(a, a) behind element-wise operators and moves along other axes. With takes_positions,
// angles that are rows of two tables at the same positions are not computed at all; the operator gets the tables and
// the positions:
//
//   cos and sin of Gather(table, positions)                      →  RotaryEmbedding(x, cos_table, sin_table, positions)
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct RotaryOptions {
  std::function<bool(EpElementType type)> takes_type;  // types to accept; if empty, float only
  // Allows the operator's `positions` input. Negative positions count from the end of the tables, as indices of Gather
  // do.
  bool takes_positions = false;
};

// Makes ONNX's RotaryEmbedding of opset 23.
void FuseRotaryEmbedding(ir::Editor& editor, const RotaryOptions& options = {});

}  // namespace epiphyte::kit::fuse
