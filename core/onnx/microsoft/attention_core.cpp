#include "core/onnx/microsoft/attention_core.h"

#include <cmath>

namespace epiphyte::core::microsoft {
namespace {

// No model has more heads. Bodies for larger, faulty numbers are not built.
constexpr int64_t kMostHeads = int64_t{1} << 16;

// Repeats the keys or values of each group for all heads of the group.
Name RepeatHeads(Body& body, const Name& x, int64_t heads, int64_t groups, int64_t size) {
  if (heads == groups) return x;
  const Name wide = body.Op("Expand", {body.Unsqueeze(x, {2}), body.Integers({1, 1, heads / groups, 1, 1})});
  if (size > 0) return body.Reshape(wide, {0, heads, -1, size});
  const Name shape = body.Op("Shape", {x});
  const Name tail = body.Slice(shape, 2, 4, 0);
  return body.Op("Reshape", {wide, body.Concat({body.Integers({0, heads}), tail}, 0)});
}

// Factor for q that scales its products with the keys: `scale` if it is given, otherwise computed from the head size.
Name ScaleOf(Body& body, const AttentionParts& parts) {
  if (parts.scale != 0) return body.Number(parts.scale, parts.type);
  if (parts.size > 0) return body.Number(1 / std::sqrt(static_cast<double>(parts.size)), parts.type);
  const Name size = body.Cast(body.SizeOf(parts.q, 3), DataType::kFloat);
  return body.Cast(body.Op("Reciprocal", {body.Op("Sqrt", {size})}), parts.type);
}

// Softmax over rows, with the exponential of the head's sink added to each sum.
Name SoftmaxWithSink(Body& body, const Name& scores, const Name& sink) {
  const Name row = body.ReduceMax(scores, {-1});
  const Name column = body.Add(body.Sub(row, row), sink);
  const Name weights = body.Softmax(body.Concat({scores, column}, 3));
  return body.Slice(weights, 0, -1, 3);
}

}  // namespace

int64_t HeadsOf(const Body& body, std::string_view attribute, int64_t width) {
  const int64_t heads = body.Int(attribute, 0);
  if (heads < 1 || heads > kMostHeads) {
    body.Reject("attribute '{}' is {}, 1 to {} heads expected", attribute, heads, kMostHeads);
  }
  if (width >= 0 && width % heads != 0)
    body.Reject("{} values can't be split into {} heads ('{}'); a multiple expected", width, heads, attribute);
  return heads;
}

Name SplitHeads(Body& body, const Name& x, int64_t heads) {
  return body.Transpose(body.Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

Name MergeHeads(Body& body, const Name& x) { return body.Reshape(body.Transpose(x, {0, 2, 1, 3}), {0, 0, -1}); }

Name MaskFrom(Body& body, const Name& keep, const Name& masked, DataType type) {
  return body.Where(keep, body.Number(0, type), masked);
}

Name Count(Body& body, const Name& n) {
  return body.Op("Range", {body.Integer(0), body.Squeeze(n, {0}), body.Integer(1)});
}

Name CausalCondition(Body& body, const Name& queries, const Name& keys) {
  const Name query = body.Add(Count(body, queries), body.Sub(keys, queries));
  return body.Op("Less", {Count(body, keys), body.Unsqueeze(body.Add(query, body.Integers({1})), {1})});
}

Name Attend(Body& body, const AttentionParts& parts, Name* kept_scores) {
  const Name k = RepeatHeads(body, parts.k, parts.heads, parts.groups, parts.size);
  const Name v = RepeatHeads(body, parts.v, parts.heads, parts.groups, parts.size);
  Name scores = body.Mul(body.MatMul(parts.q, body.Transpose(k, {0, 1, 3, 2})), ScaleOf(body, parts));
  if (parts.softcap != 0) {
    const Name cap = body.Number(parts.softcap, parts.type);
    scores = body.Mul(body.Op("Tanh", {body.Div(scores, cap)}), cap);
  }
  scores = body.AddIf(scores, parts.mask);
  if (kept_scores != nullptr) *kept_scores = scores;
  const Name weights = parts.sink.empty() ? body.Softmax(scores) : SoftmaxWithSink(body, scores, parts.sink);
  return body.MatMul(weights, v);
}

Cached AppendToBuffer(Body& body, const Name& buffer, const Name& length, const Name& added) {
  const Name zero = body.Integers({0});
  const Name end = body.Integers({kEnd});
  const Name attended = body.Concat({body.Slice(buffer, zero, length, 2), added}, 2);
  const Name unused = body.Slice(buffer, body.Add(length, body.SizeOf(added, 2)), end, 2);
  return {attended, body.Concat({attended, unused}, 2)};
}

Name OneInteger(Body& body, size_t input, std::string_view what) {
  return body.Cast(body.Reshape(body.Need(input, what), {1}), DataType::kInt64);
}

}  // namespace epiphyte::core::microsoft
