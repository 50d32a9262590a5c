// Code that the attention operators share: heads, masks, and softmax(Q K^T * scale + mask) V, in the form that the
// recognizer kit/fuse/attention.hpp expects.
#pragma once

#include "core/onnx/microsoft/forms.h"

namespace epiphyte::core::microsoft {

// The number of heads from `attribute`. Throws INVALID_GRAPH unless it is at least 1 and divides `width`. `width` -1:
// unknown, not checked.
int64_t HeadsOf(const Body& body, std::string_view attribute, int64_t width);

// [batch, sequence, heads * size] → [batch, heads, sequence, size], and the inverse.
Name SplitHeads(Body& body, const Name& x, int64_t heads);
Name MergeHeads(Body& body, const Name& x);

// A mask with 0 for elements where the condition `keep` holds, and `masked` elsewhere.
Name MaskFrom(Body& body, const Name& keep, const Name& masked, DataType type);
// An int64 vector with 0 to n-1; `n` is int64[1].
Name Count(Body& body, const Name& n);
// Condition [queries, keys] for causal attention: true when a query sees a key. The queries are the last of the keys.
// Sizes are int64[1].
Name CausalCondition(Body& body, const Name& queries, const Name& keys);

struct AttentionParts {
  Name q, k, v;  // [batch, heads, queries, size], [batch, groups, keys, size], [batch, groups, keys, width]
  Name mask;     // added to the scaled scores; may be omitted
  int64_t heads = 0;
  int64_t groups = 0;  // heads of keys and values, each shared by heads / groups neighbours; if groups < heads, width
                       // must equal size
  float scale = 0;     // 0: 1 / sqrt(size)
  int64_t size = -1;   // size of a head; -1 if unknown
  float softcap = 0;   // 0: none
  // Attention sink: exp(sink) of each head is added to the sum of each row's exponentials. May be omitted.
  Name sink;
  DataType type = DataType::kFloat;
};
// [batch, heads, queries, width]. `scores`, if not null, receives the input of the softmax.
Name Attend(Body& body, const AttentionParts& parts, Name* scores = nullptr);

// Keys or values in a buffer with spare room: [batch, heads, most, size]. The first `length` (int64[1]) are in use.
struct Cached {
  Name attended;  // the used elements, then the new ones
  Name buffer;    // same length as before, with the new elements after the used ones
};
Cached AppendToBuffer(Body& body, const Name& buffer, const Name& length, const Name& added);
// An input with one integer in any shape, as int64[1].
Name OneInteger(Body& body, size_t input, std::string_view what);

// MultiHeadAttention with cache_indirection: one new token; its past may be that of another beam.
void BuildMultiHeadAttentionOfBeams(Body& body);

}  // namespace epiphyte::core::microsoft
