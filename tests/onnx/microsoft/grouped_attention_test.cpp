// Tests of GroupQueryAttention and RotaryEmbedding.
#include <gmock/gmock.h>

#include "tests/onnx/microsoft/attention_reference.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Rotates x [batch, heads, sequence, size] by the angles at `position` of {batch, sequence}.
Array Turned(const Array& x, const Array& cos, const Array& sin, bool interleaved,
             const std::function<int64_t(int64_t, int64_t)>& position) {
  const int64_t half = cos.dims[1];
  return Make(x.dims, [&](const Dims& i) {
    if (i[3] >= 2 * half) return x.At(i);
    const bool second = interleaved ? i[3] % 2 == 1 : i[3] >= half;
    const int64_t angle = interleaved ? i[3] / 2 : i[3] % half;
    const int64_t partner = interleaved ? i[3] ^ 1 : (i[3] + half) % (2 * half);
    const int64_t at = position(i[0], i[2]);
    const double other = x.At({i[0], i[1], i[2], partner});
    return x.At(i) * cos.At({at, angle}) + (second ? other : -other) * sin.At({at, angle});
  });
}

TEST(MicrosoftRotaryEmbedding, TurnsHalvesOrNeighbours) {
  const Array cos = Random({16, 4}), sin = Random({16, 4}, -1, 1, DataType::kFloat, 2);
  const Array positions = Of({2, 3}, {0, 3, 5, 1, 2, 15}, DataType::kInt64);
  const auto given = [&](int64_t b, int64_t s) { return static_cast<int64_t>(positions.At({b, s})); };
  const auto from_four = [](int64_t, int64_t s) { return 4 + s; };
  const Array first = Of({1}, {4}, DataType::kInt64);
  for (const bool interleaved : {false, true}) {
    for (const int64_t opset : kOpsets) {
      const RunAs how{.opset = opset};
      const auto call = [&](const Array& x, const Array& where) {
        Call made("RotaryEmbedding");
        made.In(x).In(where).Weights(cos).Weights(sin).Int("interleaved", interleaved);
        return made;
      };
      const Array wide = Random({2, 3, 16}), by_heads = Random({2, 2, 3, 8});
      ExpectNear(call(wide, positions).Run(how)[0], Merged(Turned(HeadsOf(wide, 2, 8), cos, sin, interleaved, given)),
                 1e-6);
      ExpectNear(call(wide, first).Run(how)[0], Merged(Turned(HeadsOf(wide, 2, 8), cos, sin, interleaved, from_four)),
                 1e-6);
      ExpectNear(call(by_heads, positions).Run(how)[0], Turned(by_heads, cos, sin, interleaved, given), 1e-6);
      // Only the first 8 of each head's 12 elements are rotated.
      const Array part = Random({2, 3, 24});
      ExpectNear(call(part, positions).Int("num_heads", 2).Int("rotary_embedding_dim", 8).Run(how)[0],
                 Merged(Turned(HeadsOf(part, 2, 12), cos, sin, interleaved, given)), 1e-6);
    }
  }
}

TEST(MicrosoftRotaryEmbedding, RefusesWhatDoesNotFit) {
  const Array cos = Random({16, 4}), where = Of({1, 3}, {0, 1, 2}, DataType::kInt64);
  const auto call = [&](const Array& x) {
    Call made("RotaryEmbedding");
    made.In(x).In(where).Weights(cos).Weights(cos);
    return made;
  };
  EXPECT_THAT(call(Random({1, 3, 12})).Failure(), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("12 wide")));
  EXPECT_THAT(call(Random({1, 12})).Failure(), HasSubstr("2 dimensions"));
  EXPECT_THAT(call(Random({1, 3, 0})).Failure(), HasSubstr("0 wide"));
  EXPECT_THAT(call(Random({1, 3, 16})).Int("num_heads", 4).Failure(), HasSubstr("rotated"));
  EXPECT_THAT(call(Random({1, 3, 16})).Int("rotary_embedding_dim", 6).Failure(),
              HasSubstr("'rotary_embedding_dim' is 6"));
  EXPECT_THAT(call(Random({1, 3, 16})).Float("scale", 2).Failure(), HasSubstr("NOT_IMPLEMENTED"));
  EXPECT_THAT(call(Random({1, 3, 16})).Int("is_packed_batching", 1).Failure(), HasSubstr("'is_packed_batching'"));
}

// --- GroupQueryAttention

struct Decoder {
  int64_t batch = 1, queries = 1, past = 4;
  int64_t room = -1;            // length of the cache; -1: as long as the past
  std::vector<int64_t> begins;  // position of each row's new keys; empty: the past's length
  int64_t heads = 4, groups = 2, size = 8, half = 4;
  bool packed = false, rotary = false, interleaved = false, positions = false, bias = false, sink = false;
  int64_t smooth = 0, window = -1;
  float softcap = 0, scale = 0;
  DataType type = DataType::kFloat;
  double tolerance = 1e-5;
};

void Check(const Decoder& d, const RunAs& how) {
  SCOPED_TRACE("opset " + std::to_string(how.opset) + " batch " + std::to_string(d.batch));
  const int64_t total = d.past + d.queries;
  const int64_t room = d.room < 0 ? d.past : d.room;
  const auto begin = [&](int64_t b) { return d.begins.empty() ? d.past : d.begins[static_cast<size_t>(b)]; };
  const Array q = Random({d.batch, d.queries, d.heads * d.size}, -1, 1, d.type, 1);
  const Array k = Random({d.batch, d.queries, d.groups * d.size}, -1, 1, d.type, 2);
  const Array v = Random({d.batch, d.queries, d.groups * d.size}, -1, 1, d.type, 3);
  const Array past_k = Random({d.batch, d.groups, room, d.size}, -1, 1, d.type, 4);
  const Array past_v = Random({d.batch, d.groups, room, d.size}, -1, 1, d.type, 5);
  const Array cos = Random({32, d.half}, -1, 1, d.type, 6), sin = Random({32, d.half}, -1, 1, d.type, 7);
  const Array bias = Random({1, d.heads, d.queries, total}, -1, 1, d.type, 8);
  const Array sink = Random({d.heads}, -1, 1, d.type, 9);
  const Array positions = RandomIntegers({d.batch, d.queries}, 0, 31, DataType::kInt64, 10);

  Array heads_q = HeadsOf(q, d.heads, d.size), heads_k = HeadsOf(k, d.groups, d.size);
  const Array heads_v = HeadsOf(v, d.groups, d.size);
  if (d.rotary) {
    const auto at = [&](int64_t b, int64_t s) {
      return d.positions ? static_cast<int64_t>(positions.At({b, s})) : begin(b) + s;
    };
    heads_q = Turned(heads_q, cos, sin, d.interleaved, at);
    heads_k = Turned(heads_k, cos, sin, d.interleaved, at);
  }
  // Returns the cache after the step: the row's past, then the new keys or values, then the cache's old content.
  const auto present = [&](const Array& past, const Array& added) {
    return Make({d.batch, d.groups, std::max(room, total), d.size}, [&](const Dims& i) {
      const int64_t from = begin(i[0]);
      if (i[2] >= from && i[2] < from + d.queries) return added.At({i[0], i[1], i[2] - from, i[3]});
      return i[2] < room ? past.At(i) : 0;
    });
  };
  const Array all_k = present(past_k, heads_k), all_v = present(past_v, heads_v);
  AttentionRule rule;
  rule.scale = d.scale;
  rule.softcap = d.softcap;
  rule.added = [&](const Dims& i) {
    const int64_t position = begin(i[0]) + i[2];
    if (i[3] > position || (d.window >= 0 && i[3] <= position - d.window)) return kHidden;
    return d.bias ? bias.At(i) : 0;
  };
  if (d.sink) rule.sink = [&](int64_t head) { return sink.At({head}); };
  if (d.smooth != 0) rule.sink = [](int64_t) { return 0.0; };
  const Array expected = As(Merged(AttentionOf(heads_q, all_k, all_v, rule)), d.type);

  Call call("GroupQueryAttention");
  if (d.packed) {
    const int64_t width = (d.heads + 2 * d.groups) * d.size;
    call.In(As(Make({d.batch, d.queries, width},
                    [&](const Dims& i) {
                      const int64_t in_k = i[2] - d.heads * d.size, in_v = in_k - d.groups * d.size;
                      return in_k < 0 ? q.At(i) : in_v < 0 ? k.At({i[0], i[1], in_k}) : v.At({i[0], i[1], in_v});
                    }),
               d.type))
        .Absent()
        .Absent();
  } else {
    call.In(q).In(k).In(v);
  }
  call.In(past_k).In(past_v);
  call.In(Make(
      {d.batch}, [&](const Dims& i) { return begin(i[0]) + d.queries - 1; }, DataType::kInt32));
  call.In(Of({1}, {static_cast<double>(total)}, DataType::kInt32));
  d.rotary ? call.Weights(cos).Weights(sin) : call.Absent().Absent();
  d.positions ? call.In(positions) : call.Absent();
  d.bias ? call.In(bias) : call.Absent();
  if (d.sink) call.In(sink);
  call.Int("num_heads", d.heads).Int("kv_num_heads", d.groups).Outputs({true, true, true});
  call.Int("do_rotary", d.rotary).Int("rotary_interleaved", d.interleaved).Int("local_window_size", d.window);
  call.Int("smooth_softmax", d.smooth).Float("softcap", d.softcap).Float("scale", d.scale);
  const Arrays y = call.Run(how);
  ExpectNear(y[0], expected, d.tolerance);
  ExpectNear(y[1], As(all_k, d.type), d.tolerance);
  ExpectNear(y[2], As(all_v, d.type), d.tolerance);
}

TEST(MicrosoftGroupQueryAttention, DecodesBehindItsPast) {
  for (const int64_t opset : {11, 13, 17, 18, 21, 23, 24}) {
    for (const int64_t batch : {1, 2}) {
      for (const bool rotary : {false, true}) {
        Check({.batch = batch, .rotary = rotary}, {.opset = opset});
        Check({.batch = batch, .queries = 5, .past = 0, .rotary = rotary}, {.opset = opset});
        Check({.batch = batch, .queries = 3, .rotary = rotary}, {.opset = opset});
      }
    }
  }
}

TEST(MicrosoftGroupQueryAttention, TakesEachOfItsOptions) {
  for (const int64_t batch : {1, 2}) {
    Check({.batch = batch, .rotary = true, .interleaved = true}, {});
    Check({.batch = batch, .half = 2, .rotary = true}, {});
    Check({.batch = batch, .packed = true, .rotary = true}, {});
    Check({.batch = batch, .queries = 2, .rotary = true, .positions = true}, {});
    Check({.batch = batch, .softcap = 2}, {});
    Check({.batch = batch, .scale = 0.7f}, {});
    Check({.batch = batch, .queries = 6, .past = 0, .window = 2}, {});
    Check({.batch = batch, .past = 7, .window = 3}, {});
    Check({.batch = batch, .smooth = 1}, {});
    Check({.batch = batch, .queries = 3, .sink = true}, {.opset = 21});
    Check({.batch = batch, .queries = 3, .bias = true}, {});
    Check({.batch = batch, .heads = 4, .groups = 4}, {});
    Check({.batch = batch, .heads = 4, .groups = 1}, {});
  }
}

TEST(MicrosoftGroupQueryAttention, KeepsTheSizeOfALongerCache) {
  for (const int64_t batch : {1, 2}) {
    Check({.batch = batch, .room = 9, .rotary = true}, {});
    Check({.batch = batch, .queries = 5, .past = 0, .room = 9}, {});
    Check({.batch = batch, .room = 9, .bias = true}, {});
  }
}

TEST(MicrosoftGroupQueryAttention, EachRowMayHaveALengthOfItsOwn) {
  Check({.batch = 2, .begins = {4, 2}, .rotary = true}, {});
  Check({.batch = 3, .past = 6, .room = 12, .begins = {1, 6, 3}, .rotary = true}, {.opset = 21});
}

TEST(MicrosoftGroupQueryAttention, TakesOpenSizesHalfAndAContext) {
  Check({.batch = 2}, {.open = true});
  Check({.batch = 1, .rotary = true}, {.context = true});
  Check({.batch = 2, .rotary = true, .type = DataType::kFloat16, .tolerance = 6e-3}, {});
}

TEST(MicrosoftGroupQueryAttention, RefusesWhatDoesNotFit) {
  const Array q = Random({1, 1, 32}), k = Random({1, 1, 16}), past = Random({1, 2, 4, 8});
  const Array length = Of({1}, {4}, DataType::kInt32), total = Of({1}, {5}, DataType::kInt32);
  const auto call = [&](int64_t heads, int64_t groups) {
    Call made("GroupQueryAttention");
    made.In(q).In(k).In(k).In(past).In(past).In(length).In(total).Int("num_heads", heads).Int("kv_num_heads", groups);
    return made;
  };
  EXPECT_EQ(call(4, 2).Failure(), "OK");
  EXPECT_THAT(call(4, 3).Failure(), HasSubstr("3 heads"));
  EXPECT_THAT(call(3, 2).Failure(), HasSubstr("3 heads"));
  EXPECT_THAT(call(2, 4).Failure(), HasSubstr("a multiple of kv_num_heads"));
  EXPECT_THAT(call(0, 2).Failure(), HasSubstr("'num_heads' is 0"));
  EXPECT_THAT(call(4, 2).Int("do_rotary", 1).Failure(), HasSubstr("cos_cache"));
  EXPECT_THAT(call(4, 2).Int("local_window_size", -5).Failure(), HasSubstr("'local_window_size' is -5"));
  EXPECT_THAT(call(4, 2).String("k_quant_type", "PER_TENSOR").Failure(), HasSubstr("'PER_TENSOR', only NONE"));
  EXPECT_THAT(call(4, 2).Outputs({true, true, true, true}).Failure(), HasSubstr("output_qk"));
}

}  // namespace
}  // namespace epiphyte::test::microsoft
