// The shapes of Attention's operands: Q, K and V as [batch, heads, length, size], or with the heads side by side as
// [batch, length, heads * size]; several query heads may share a head of keys and values.
#pragma once

#include "plugins/cpu/kernel/broadcast.h"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

struct AttentionShape {
  int64_t batch, heads, kv_heads;
  int64_t queries;  // length of Q
  int64_t fresh;    // length of K and V
  int64_t past;     // of the cache
  int64_t total;    // past + fresh
  int64_t size, v_size;
  bool heads_first;

  AttentionShape(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor* past_key, const Tensor* past_value,
                 int64_t q_heads, int64_t k_heads) {
    if (q.rank() != k.rank() || k.rank() != v.rank() || (q.rank() != 3 && q.rank() != 4)) {
      FailOp("Q, K and V have shapes {}, {} and {}, expected three or four dimensions each", ShapeText(q.dims),
             ShapeText(k.dims), ShapeText(v.dims));
    }
    heads_first = q.rank() == 4;
    batch = q.dims[0];
    heads = heads_first ? q.dims[1] : q_heads;
    kv_heads = heads_first ? k.dims[1] : k_heads;
    if (heads <= 0 || kv_heads <= 0 || heads % kv_heads != 0) {
      FailOp("{} query heads can't share {} heads of keys and values", heads, kv_heads);
    }
    queries = q.dims[heads_first ? 2 : 1];
    fresh = k.dims[heads_first ? 2 : 1];
    size = heads_first ? q.dims[3] : q.dims[2] / heads;
    v_size = heads_first ? v.dims[3] : v.dims[2] / kv_heads;
    const bool fits =
        heads_first ? k.dims == Dims{batch, kv_heads, fresh, size} && v.dims == Dims{batch, kv_heads, fresh, v_size}
                    : q.dims[2] == heads * size && k.dims == Dims{batch, fresh, kv_heads * size} &&
                          v.dims == Dims{batch, fresh, kv_heads * v_size};
    if (!fits) {
      FailOp("Q, K and V have shapes {}, {} and {}, which do not fit {} and {} heads", ShapeText(q.dims),
             ShapeText(k.dims), ShapeText(v.dims), heads, kv_heads);
    }
    past = past_key == nullptr ? 0 : past_key->dims.size() == 4 ? past_key->dims[2] : -1;
    if ((past_key == nullptr) != (past_value == nullptr) ||
        (past_key != nullptr && (!(past_key->dims == Dims{batch, kv_heads, past, size}) ||
                                 !(past_value->dims == Dims{batch, kv_heads, past, v_size})))) {
      FailOp("past_key and past_value must both be there, as [{},{},past,size]", batch, kv_heads);
    }
    total = past + fresh;
  }

  // Where the elements of a head's vector at a position begin, in a tensor laid out as Q or Y (or K, V).
  int64_t Offset(int64_t image, int64_t head, int64_t position, int64_t head_count, int64_t length,
                 int64_t width) const {
    if (heads_first) return ((image * head_count + head) * length + position) * width;
    return ((image * length + position) * head_count + head) * width;
  }
};

}  // namespace epiphyte::cpu
