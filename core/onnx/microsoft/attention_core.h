// What the attention operators share: heads, masks, and softmax(Q K^T * scale + mask) V written out, as the recogniser
// kit/fuse/attention.hpp wants to see it.
#pragma once

#include "core/onnx/microsoft/forms.h"

namespace epiphyte::core::microsoft {

// The attribute that says how many heads there are; INVALID_GRAPH unless it is 1 or more and divides `width`, if that
// is known (not -1).
int64_t HeadsOf(const Body& body, std::string_view attribute, int64_t width);

// [batch, sequence, heads * size] → [batch, heads, sequence, size], and back.
Name SplitHeads(Body& body, const Name& x, int64_t heads);
Name MergeHeads(Body& body, const Name& x);

// Where `keep`, a condition, holds 0, else `masked`.
Name MaskFrom(Body& body, const Name& keep, const Name& masked, DataType type);
// 0..n-1 as int64 vector; `n` is int64[1].
Name Count(Body& body, const Name& n);
// [queries, keys]: whether a query sees a key, when the queries are the last of the keys. Sizes are int64[1].
Name CausalCondition(Body& body, const Name& queries, const Name& keys);

struct AttentionParts {
  Name q, k, v;  // [batch, heads, queries, size], [batch, groups, keys, size], [batch, groups, keys, width]
  Name mask;     // added to the scaled scores; may be left out
  int64_t heads = 0;
  int64_t groups = 0;  // of keys and values, each for heads / groups neighbours; fewer than heads only if width is size
  float scale = 0;     // 0: one over the root of `size`
  int64_t size = -1;   // of a head, if known
  float softcap = 0;   // 0: none
  // Added to the sum of each row's exponentials: exp(sink) of each head. May be left out.
  Name sink;
  DataType type = DataType::kFloat;
};
// [batch, heads, queries, width]. `scores`, if not null, gets what goes into the softmax.
Name Attend(Body& body, const AttentionParts& parts, Name* scores = nullptr);

// Keys or values in a buffer that has room for more: [batch, heads, most, size], the first `length` (int64[1]) of them
// in use.
struct Cached {
  Name attended;  // those in use, and the new ones
  Name buffer;    // as long as before, with the new ones behind those in use
};
Cached AppendToBuffer(Body& body, const Name& buffer, const Name& length, const Name& added);
// An input of one integer in any shape, as int64[1].
Name OneInteger(Body& body, size_t input, std::string_view what);

}  // namespace epiphyte::core::microsoft
