// Normalizations with fused sums in front of them.
#include "core/onnx/microsoft/forms.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

// input + bias + skip. The bias is added first, so that it can be fused into the GEMM that produces the input.
Name SkipSum(Body& body, size_t bias) {
  return body.Add(body.AddIf(body.Need(0, "input"), body.In(bias)), body.Need(1, "skip"));
}

void BuildSkipLayerNormalization(Body& body) {
  const Name sum = SkipSum(body, 4);
  const bool statistics = body.Wants(1) || body.Wants(2);
  const Normalized normal = LayerNormalization(body, sum, body.Need(2, "gamma"), body.In(3),
                                               body.Float("epsilon", 1e-12f), body.FloatTypeOf(0), statistics);
  body.Return(0, normal.y);
  body.Return(1, normal.mean);
  body.Return(2, normal.inverse_deviation);
  body.Return(3, sum);
}

// One zero for each row, for the mean output of an operator that subtracts no mean.
Name NoMean(Body& body, const Name& x) {
  const Name rows = body.Slice(body.Op("Shape", {x}), 0, -1, 0);
  return body.Fill(body.Concat({rows, body.Integers({1})}, 0), 0, DataType::kFloat);
}

void BuildSkipSimplifiedLayerNormalization(Body& body) {
  const Name sum = SkipSum(body, 3);
  if (body.Wants(1)) body.Return(1, NoMean(body, sum));
  const Normalized normal = RmsNormalization(body, sum, body.Need(2, "gamma"), body.Float("epsilon", 1e-12f), -1,
                                             body.FloatTypeOf(0), body.Wants(2));
  body.Return(0, normal.y);
  body.Return(2, normal.inverse_deviation);
  body.Return(3, sum);
}

void BuildSimplifiedLayerNormalization(Body& body) {
  body.Only("stash_type", 1);
  int64_t axis = body.Int("axis", -1);
  // The last axis becomes -1, also when given as a positive number.
  if (axis >= 0 && axis == static_cast<int64_t>(body.RankOf(0)) - 1) axis = -1;
  const DataType type = body.FloatTypeOf(0);
  const DataType scale = body.TypeIfKnown(1) == DataType::kUndefined ? type : body.FloatTypeOf(1);
  const Name x = body.Need(0, "X");
  // If the types of input and scale differ, the result has the scale's type.
  if (scale != type) {
    const Normalized wide = RmsNormalization(body, body.Cast(x, scale), body.Need(1, "scale"),
                                             body.Float("epsilon", 1e-5f), axis, scale, body.Wants(1));
    body.Return(0, wide.y);
    return body.Return(1, wide.inverse_deviation);
  }
  const Normalized normal =
      RmsNormalization(body, x, body.Need(1, "scale"), body.Float("epsilon", 1e-5f), axis, type, body.Wants(1));
  body.Return(0, normal.y);
  body.Return(1, normal.inverse_deviation);
}

// Number of ones in each row of the mask, as int32. Without a mask it is 0 for each row of `ids`.
Name MaskIndex(Body& body, const Name& ids) {
  const Name mask = body.In(7);
  if (mask.empty()) {
    const Name zeros =
        body.Mul(body.ReduceSum(body.Cast(ids, DataType::kFloat), {1}, false), body.Number(0, DataType::kFloat));
    return body.Cast(zeros, DataType::kInt32);
  }
  const Name is_one = body.Op("Equal", {body.Cast(mask, DataType::kInt32), body.Number(1, DataType::kInt32)});
  return body.Cast(body.ReduceSum(body.Cast(is_one, DataType::kFloat), {1}, false), DataType::kInt32);
}

void BuildEmbedLayerNormalization(Body& body) {
  const Name ids = body.Need(0, "input_ids");
  const Name positions = body.Need(3, "position_embedding");
  Name sum = body.Gather(body.Need(2, "word_embedding"), ids);
  sum = body.Add(sum, body.Has(8) ? body.Gather(positions, body.In(8))
                                  : body.Slice(positions, body.Integers({0}), body.SizeOf(ids, 1), 0));
  if (body.Has(1) != body.Has(4)) body.Reject("segment_ids and segment_embedding go together, one of them is missing");
  if (body.Has(1)) sum = body.Add(sum, body.Gather(body.In(4), body.In(1)));
  const Normalized normal = LayerNormalization(body, sum, body.Need(5, "gamma"), body.Need(6, "beta"),
                                               body.Float("epsilon", 1e-12f), body.FloatTypeOf(2), false);
  body.Return(0, normal.y);
  if (body.Wants(1)) body.Return(1, MaskIndex(body, ids));
  body.Return(2, sum);
}

constexpr Operator kNormalizationOperators[] = {
    {"EmbedLayerNormalization", 7, 9, 3, "epsilon:f mask_index_type:i", BuildEmbedLayerNormalization},
    {"SimplifiedLayerNormalization", 2, 2, 2, "axis:i epsilon:f stash_type:i", BuildSimplifiedLayerNormalization},
    {"SkipLayerNormalization", 3, 5, 4, "epsilon:f", BuildSkipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", 3, 4, 4, "epsilon:f", BuildSkipSimplifiedLayerNormalization},
};

}  // namespace

std::span<const Operator> NormalizationOperators() { return kNormalizationOperators; }

}  // namespace epiphyte::core::microsoft
