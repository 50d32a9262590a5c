// Attention that exporters wrote out: MatMul(Softmax(MatMul(q, k) * scale + mask), v), with the transposes around it,
// the scale on the queries, the keys or the scores, and the repetition of key and value heads (grouped queries). As one
// node nothing but the result is written to memory.
//
//   fuse::FuseAttention(editor);   // →  Attention<q_perm, k_perm, v_perm, y_perm, scale>(q, k, v, mask), operators.hpp
//   fuse::FuseAttention(editor, {.form = fuse::AttentionOptions::Form::kOnnx, .cache = true});
//   // →  y, present_key, present_value = Attention<scale>(q, k, v, mask, past_key, past_value), ONNX's of opset 23
//
// Runs behind FuseSoftmax and FuseRotaryEmbedding, and before FuseProducts.
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct AttentionOptions {
  enum class Form : uint8_t {
    kPermuted,  // the kit's operator: transposes of operands and result become attributes
    kOnnx,      // ONNX's of opset 23, on [batch, heads, sequence, size]: transposes stay
  };
  Form form = Form::kPermuted;
  // Concat(past, new) of keys and of values become inputs and outputs of the operator, where nothing but the graph's
  // outputs and the attention itself reads what they make.
  bool cache = false;
  std::function<bool(EpElementType type)> takes_type;  // of queries, keys, values and mask alike; empty: float alone
};

void FuseAttention(ir::Editor& editor, const AttentionOptions& options = {});

}  // namespace epiphyte::kit::fuse
