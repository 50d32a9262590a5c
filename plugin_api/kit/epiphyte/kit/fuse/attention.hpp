// FuseAttention: recognises attention that exporters wrote as MatMul(Softmax(MatMul(q, k) * scale + mask), v). It takes
// in the transposes around it, the scale on queries, keys or scores, and the repetition of key and value heads (grouped
// queries). As one node, only the result is written to memory.
//
//   fuse::FuseAttention(editor);   // →  Attention<q_perm, k_perm, v_perm, y_perm, scale>(q, k, v, mask), operators.hpp
//   fuse::FuseAttention(editor, {.form = fuse::AttentionOptions::Form::kOnnx, .cache = true});
//   // →  y, present_key, present_value = Attention<scale>(q, k, v, mask, past_key, past_value), ONNX's of opset 23
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct AttentionOptions {
  enum class Form : uint8_t {
    kPermuted,  // operator of the kit: transposes of operands and result become attributes
    kOnnx,      // ONNX's Attention of opset 23 on [batch, heads, sequence, size]: transposes stay nodes
  };
  Form form = Form::kPermuted;
  // Makes Concat(past, new) of keys and of values inputs and outputs of the operator. Only the attention may read the
  // results of these Concats; they may also be graph outputs.
  bool cache = false;
  // Tells whether a type of queries, keys, values and mask is supported; empty: only float.
  std::function<bool(EpElementType type)> takes_type;
};

void FuseAttention(ir::Editor& editor, const AttentionOptions& options = {});

}  // namespace epiphyte::kit::fuse
