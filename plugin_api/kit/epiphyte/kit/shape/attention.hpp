// AttentionShape: the shapes of Attention's operands. Q, K and V are [batch, heads, length, size], or [batch, length,
// heads * size] with the heads side by side. Several query heads may share a head of keys and values.
//
//   const kit::AttentionShape shape(q, k, v, past_key, past_value, q_num_heads, kv_num_heads);
//   const kit::AttentionMask mask(shape, mask_dims);
//   y[shape.Offset(image, head, position, shape.heads, shape.queries, shape.v_size)];
//
// The constructors throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <array>
#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

struct AttentionShape {
  int64_t batch, heads, kv_heads;
  int64_t queries;  // length of Q
  int64_t fresh;    // length of K and V
  int64_t past;     // length of the cache
  int64_t total;    // past + fresh
  int64_t size, v_size;
  bool heads_first;

  // The cache's shapes are null if there is no cache. `q_heads` and `k_heads` are the node's attributes; they count
  // when the heads are side by side.
  AttentionShape(const Dims& q, const Dims& k, const Dims& v, const Dims* past_key, const Dims* past_value,
                 int64_t q_heads, int64_t k_heads);

  Dims Output() const;  // same layout as Q, with vectors of v_size
  Dims PresentKey() const { return {batch, kv_heads, total, size}; }
  Dims PresentValue() const { return {batch, kv_heads, total, v_size}; }
  Dims Scores() const { return {batch, heads, queries, total}; }
  // Index of the key and value head that a query head reads.
  int64_t SharedHead(int64_t head) const { return head / (heads / kv_heads); }

  // Offset of the first element of a head's vector at a position, in a tensor with the layout of Q or Y (or K, V).
  int64_t Offset(int64_t image, int64_t head, int64_t position, int64_t head_count, int64_t length,
                 int64_t width) const {
    if (heads_first) return ((image * head_count + head) * length + position) * width;
    return ((image * length + position) * head_count + head) * width;
  }
};

// Strides of a mask over the scores [batch, heads, queries, total]. The mask broadcasts, and may be shorter in the last
// dimension.
struct AttentionMask {
  std::array<int64_t, 4> strides{};  // for each dimension of the scores; 0: broadcast
  int64_t length = 0;                // keys that the mask covers; later keys are masked out

  AttentionMask() = default;
  AttentionMask(const AttentionShape& shape, const Dims& mask);
};

}  // namespace epiphyte::kit
