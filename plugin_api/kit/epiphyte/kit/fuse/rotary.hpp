// Rotary position embeddings that exporters wrote out as arithmetic on [batch, heads, sequence, size].
//
//   fuse::FuseRotaryEmbedding(editor);
//   // x * cos + Concat(-x[size/2:], x[:size/2]) * sin                            →  RotaryEmbedding(x, cos', sin')
//   // Concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin), of halves                →  the same
//   // the latter of x[0::2] and x[1::2], put together alternately                →  RotaryEmbedding<interleaved=1>
//   // Concat(RotaryEmbedding(x[:n]), x[n:])                        →  RotaryEmbedding<rotary_embedding_dim=n>(x, …)
//
// cos' and sin' are what the operator takes, [batch, sequence, size / 2], by a Slice and a Squeeze that all embeddings
// with the same angles share. In the first form the two halves of cos and sin must be seen to be equal: as Concat(a, a)
// behind element-wise operators and movements of other axes, or as a constant. Angles that are rows of two tables for
// the same positions aren't made at all where the operator's own positions are welcome:
//
//   cos and sin of Gather(table, positions)                      →  RotaryEmbedding(x, cos_table, sin_table, positions)
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct RotaryOptions {
  std::function<bool(EpElementType type)> takes_type;  // empty: float alone
  // Negative positions count from the end of the tables, as Gather's indices do.
  bool takes_positions = false;
};

// Makes ONNX's RotaryEmbedding of opset 23.
void FuseRotaryEmbedding(ir::Editor& editor, const RotaryOptions& options = {});

}  // namespace epiphyte::kit::fuse
