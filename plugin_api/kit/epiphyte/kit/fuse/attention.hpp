// Attention that exporters wrote out: MatMul(Softmax(MatMul(q, k) * scale + mask), v), with the transposes around it,
// the scale on the queries, the keys or the scores, and the repetition of key and value heads (grouped queries). As one
// node nothing but the result is written to memory.
//
//   fuse::FuseAttention(editor);   // →  Attention<q_perm, k_perm, v_perm, y_perm, scale>(q, k, v, mask), operators.hpp
//
// Runs behind FuseSoftmax and FuseRotaryEmbedding, and before FuseProducts.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct AttentionOptions {
  std::function<bool(EpElementType type)> takes_type;  // of queries, keys, values and mask alike; empty: float alone
};

void FuseAttention(ir::Editor& editor, const AttentionOptions& options = {});

}  // namespace epiphyte::kit::fuse
