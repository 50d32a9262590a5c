// DecoderMaskedMultiHeadAttention, DecoderMaskedSelfAttention, and attention operators that write new keys and values
// into a buffer.
#include <gmock/gmock.h>

#include "tests/onnx/microsoft/attention_reference.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 4, kHeads = 2, kSize = 4, kWidth = kHeads * kSize, kMost = 6, kPast = 3;

Array Int32(double number, Dims dims = {1}) { return Of(std::move(dims), {number}, DataType::kInt32); }

// Returns the first `length` positions.
Array Begin(const Array& buffer, int64_t length) {
  Dims dims = buffer.dims;
  dims[2] = length;
  return Make(dims, [&](const Dims& i) { return buffer.At(i); });
}
// Returns `buffer` with `added` from position `from` on.
Array With(const Array& buffer, const Array& added, int64_t from) {
  return Make(buffer.dims, [&](const Dims& i) {
    const bool is_new = i[2] >= from && i[2] < from + added.dims[2];
    return is_new ? added.At({i[0], i[1], i[2] - from, i[3]}) : buffer.At(i);
  });
}
Array Plus(const Array& x, const Array& bias, int64_t from) {
  return Make(x.dims, [&](const Dims& i) { return x.At(i) + bias.At({from + i[2]}); });
}
Array Part(const Array& x, int64_t from, int64_t width) {
  return Make({x.dims[0], x.dims[1], width}, [&](const Dims& i) { return x.At({i[0], i[1], from + i[2]}); });
}
Array Stacked(const Array& a, const Array& b) {
  Dims dims = a.dims;
  dims.insert(dims.begin(), 2);
  return Make(dims, [&](const Dims& i) { return (i[0] == 0 ? a : b).At(Dims(i.begin() + 1, i.end())); });
}

struct Token {
  Array q = Random({kRows, 1, kWidth}), k = Random({kRows, 1, kWidth}, -1, 1, DataType::kFloat, 2),
        v = Random({kRows, 1, kWidth}, -1, 1, DataType::kFloat, 3),
        past_k = Random({kRows, kHeads, kMost, kSize}, -1, 1, DataType::kFloat, 4),
        past_v = Random({kRows, kHeads, kMost, kSize}, -1, 1, DataType::kFloat, 5),
        bias = Random({3 * kWidth}, -1, 1, DataType::kFloat, 6);
};

TEST(MicrosoftMaskedAttention, ANewTokenGoesIntoTheBuffer) {
  const Token t;
  for (const bool with_bias : {false, true}) {
    for (const bool packed : {false, true}) {
      const Array q = with_bias ? Plus(t.q, t.bias, 0) : t.q, k = with_bias ? Plus(t.k, t.bias, kWidth) : t.k,
                  v = with_bias ? Plus(t.v, t.bias, 2 * kWidth) : t.v;
      const Array new_k = HeadsOf(k, kHeads, kSize), new_v = HeadsOf(v, kHeads, kSize);
      const Array all = Make({kRows, 1, 3 * kWidth}, [&](const Dims& i) {
        return (i[2] < kWidth ? t.q : i[2] < 2 * kWidth ? t.k : t.v).At({i[0], 0, i[2] % kWidth});
      });
      for (const RunAs& how : {RunAs{.opset = 11}, RunAs{}, RunAs{.opset = 21, .open = true, .context = true}}) {
        for (const int64_t length : {int64_t{0}, kPast, kMost - 1}) {
          Call call("DecoderMaskedMultiHeadAttention");
          packed ? call.In(all).Absent().Absent() : call.In(t.q).In(t.k).In(t.v);
          call.Absent().Absent().In(t.past_k).In(t.past_v).In(Int32(static_cast<double>(length)));
          if (with_bias) call.Absent().Absent().Weights(t.bias);
          call.Int("num_heads", kHeads).Int("past_present_share_buffer", 1).Outputs({true, true, true});
          const Arrays y = call.Run(how);
          const Array keys = Joined(Begin(t.past_k, length), new_k), values = Joined(Begin(t.past_v, length), new_v);
          ExpectNear(y[0], Merged(AttentionOf(HeadsOf(q, kHeads, kSize), keys, values, {})), 1e-5);
          ExpectNear(y[1], With(t.past_k, new_k, length), 1e-6);
          ExpectNear(y[2], With(t.past_v, new_v, length), 1e-6);
        }
      }
    }
  }
}

TEST(MicrosoftMaskedAttention, MasksAndBiasesOfScoresAreInWhatItReturnsOfThem) {
  const Token t;
  const Array mask = RandomIntegers({kRows, kPast + 1}, 0, 1, DataType::kInt32, 7);
  const Array added = Random({1, kHeads, 1, kPast + 1}, -1, 1, DataType::kFloat, 8);
  const Array new_k = HeadsOf(t.k, kHeads, kSize);
  const Array keys = Joined(Begin(t.past_k, kPast), new_k),
              values = Joined(Begin(t.past_v, kPast), HeadsOf(t.v, kHeads, kSize));
  AttentionRule rule;
  rule.scale = 0.3f;
  rule.added = [&](const Dims& i) { return added.At({0, i[1], 0, i[3]}) + (mask.At({i[0], i[3]}) != 0 ? 0 : -5); };
  const Array q = HeadsOf(t.q, kHeads, kSize);
  const Array scores = Make({kRows, kHeads, 1, kPast + 1}, [&](const Dims& i) {
    double sum = 0;
    for (int64_t c = 0; c < kSize; ++c) sum += q.At({i[0], i[1], 0, c}) * keys.At({i[0], i[1], i[3], c});
    return sum * 0.3f + rule.added(i);
  });
  Call call("DecoderMaskedMultiHeadAttention");
  call.In(t.q).In(t.k).In(t.v).In(mask).In(added).In(t.past_k).In(t.past_v).In(Int32(kPast));
  call.Int("num_heads", kHeads).Int("past_present_share_buffer", 1).Int("output_qk", 1).Float("scale", 0.3f);
  const Arrays y = call.Float("mask_filter_value", -5).Outputs({true, true, true, true}).Run();
  ExpectNear(y[0], Merged(AttentionOf(q, keys, values, rule)), 1e-5);
  ExpectNear(y[3], scores, 1e-5);
}

TEST(MicrosoftMaskedAttention, ThePastOfABeamMayBeThatOfAnother) {
  // The batch has two rows with two beams each.
  const Token t;
  const Array beams = RandomIntegers({2, 2, kMost}, 0, 1, DataType::kInt32, 9);
  const auto moved = [&](const Array& past) {
    return Make({kRows, kHeads, kPast, kSize}, [&](const Dims& i) {
      const auto beam = static_cast<int64_t>(beams.At({i[0] / 2, i[0] % 2, i[2]}));
      return past.At({i[0] / 2 * 2 + beam, i[1], i[2], i[3]});
    });
  };
  const Array new_k = HeadsOf(t.k, kHeads, kSize), new_v = HeadsOf(t.v, kHeads, kSize);
  const Array expected = Merged(
      AttentionOf(HeadsOf(t.q, kHeads, kSize), Joined(moved(t.past_k), new_k), Joined(moved(t.past_v), new_v), {}));
  for (const bool open : {false, true}) {
    Call call("DecoderMaskedMultiHeadAttention");
    call.In(t.q).In(t.k).In(t.v).Absent().Absent().In(t.past_k).In(t.past_v).In(Int32(kPast)).In(Int32(2)).In(beams);
    call.Int("num_heads", kHeads).Int("past_present_share_buffer", 1).Outputs({true, true, true});
    const Arrays y = call.Run({.open = open});
    ExpectNear(y[0], expected, 1e-5);
    ExpectNear(y[1], With(t.past_k, new_k, kPast), 1e-6);
    // MultiHeadAttention is the same operator with its inputs in another order.
    Call other("MultiHeadAttention");
    other.In(t.q).In(t.k).In(t.v).Absent().Absent().Absent().In(t.past_k).In(t.past_v).In(Int32(kPast)).In(beams);
    const Arrays z = other.Int("num_heads", kHeads).Outputs({true, true, true}).Run({.open = open});
    ExpectNear(z[0], expected, 1e-5);
    ExpectNear(z[1], y[1], 0);
    ExpectNear(z[2], y[2], 0);
  }
}

TEST(MicrosoftMaskedAttention, KeysOfAnEncoderAreTakenAsTheyAre) {
  const Token t;
  const Array mask = RandomIntegers({kRows, kMost}, 0, 1, DataType::kInt32, 7);
  AttentionRule rule;
  rule.added = [&](const Dims& i) { return mask.At({i[0], i[3]}) != 0 ? 0 : -10000; };
  Call call("DecoderMaskedMultiHeadAttention");
  call.In(t.q).In(t.past_k).In(t.past_v).In(mask).Absent().Absent().Absent().Absent().Absent().Absent().Weights(t.bias);
  ExpectNear(call.Int("num_heads", kHeads).Run()[0],
             Merged(AttentionOf(HeadsOf(Plus(t.q, t.bias, 0), kHeads, kSize), t.past_k, t.past_v, rule)), 1e-5);
}

// Compares with results of ONNX Runtime 1.30 for the same inputs.
TEST(MicrosoftMaskedAttention, NumbersAreThoseOfOnnxRuntime) {
  const auto sines = [](Dims dims, double phase) {
    int64_t n = 0;
    return As(
        Make(std::move(dims),
             [&](const Dims&) { return std::round(std::sin(static_cast<double>(n++) * 0.9 + phase) * 1e3) / 1e3; }),
        DataType::kFloat);
  };
  Call self("DecoderMaskedMultiHeadAttention");
  self.In(sines({1, 1, 4}, 1)).In(sines({1, 1, 4}, 2)).In(sines({1, 1, 4}, 3)).Absent().Absent();
  self.In(sines({1, 2, 5, 2}, 4)).In(sines({1, 2, 5, 2}, 5)).In(Int32(2)).Int("num_heads", 2);
  self.Int("past_present_share_buffer", 1).Int("output_qk", 1).Outputs({true, true, true, true});
  const Arrays y = self.Run();
  ExpectNear(y[0], As(Of({1, 1, 4}, {0.137239, -0.157868, -0.1869633, -0.3545615}), DataType::kFloat), 1e-5);
  ExpectNear(
      y[3],
      As(Of({1, 2, 1, 3}, {-1.107053, -0.005610898, 0.7004339, -0.2647832, 0.1836639, 0.2297955}), DataType::kFloat),
      1e-5);
  Call many("DecoderMaskedMultiHeadAttention");
  many.In(sines({2, 1, 4}, 1)).In(sines({2, 1, 4}, 2)).In(sines({2, 1, 4}, 3));
  many.In(Of({2, 3}, {1, 0, 1, 1, 1, 1}, DataType::kInt32)).In(sines({1, 2, 1, 3}, 9)).In(sines({2, 2, 5, 2}, 4));
  many.In(sines({2, 2, 5, 2}, 5)).In(Int32(2)).Absent().Absent().In(sines({12}, 6)).Int("num_heads", 2);
  many.Int("past_present_share_buffer", 1).Float("scale", 0.3f).Float("mask_filter_value", -5);
  ExpectNear(
      many.Outputs({true, true, true}).Run()[0],
      As(Of({2, 1, 4}, {-0.495099, -0.183054, 0.09775831, -0.2578146, -0.3822262, 0.0135628, 1.116024, 0.002725124}),
         DataType::kFloat),
      1e-5);
  Call scores("MultiHeadAttention");
  scores.In(sines({1, 2, 4}, 1)).In(sines({1, 2, 4}, 2)).In(sines({1, 2, 4}, 3)).Int("num_heads", 2);
  ExpectNear(
      scores.Outputs({true, true, true, true}).Run()[3],
      As(Of({1, 2, 2, 2}, {0.7004339, -0.2314226, -0.7582164, 0.3361755, 0.2297955, -0.1250836, -0.6516725, 0.6165144}),
         DataType::kFloat),
      1e-5);
}

TEST(MicrosoftMaskedAttention, OneWithItsProjectionDoesTheSame) {
  const Token t;
  const Array x = Random({kRows, 1, 5}), weights = Random({5, 3 * kWidth}, -1, 1, DataType::kFloat, 2);
  const Array all = Make({kRows, 1, 3 * kWidth}, [&](const Dims& i) {
    double sum = t.bias.At({i[2]});
    for (int64_t c = 0; c < 5; ++c) sum += x.At({i[0], 0, c}) * weights.At({c, i[2]});
    return sum;
  });
  const Array new_k = HeadsOf(Part(all, kWidth, kWidth), kHeads, kSize),
              new_v = HeadsOf(Part(all, 2 * kWidth, kWidth), kHeads, kSize);
  const Array expected =
      Merged(AttentionOf(HeadsOf(Part(all, 0, kWidth), kHeads, kSize), Joined(Begin(t.past_k, kPast), new_k),
                         Joined(Begin(t.past_v, kPast), new_v), {}));
  const Array present = Stacked(With(t.past_k, new_k, kPast), With(t.past_v, new_v, kPast));
  for (const int64_t opset : {11, 17, 21}) {
    Call masked("DecoderMaskedSelfAttention");
    masked.In(x).Weights(weights).Weights(t.bias).Absent().In(Stacked(t.past_k, t.past_v)).Absent().In(Int32(kPast));
    masked.Int("num_heads", kHeads).Int("past_present_share_buffer", 1).Outputs({true, true});
    Call attention("Attention");
    attention.In(x).Weights(weights).Weights(t.bias).Absent().In(Stacked(t.past_k, t.past_v)).Absent();
    attention.In(Int32(kPast, {})).Int("num_heads", kHeads).Int("past_present_share_buffer", 1).Outputs({true, true});
    for (const Call* call : {&masked, &attention}) {
      const Arrays y = call->Run({.opset = opset});
      ExpectNear(y[0], expected, 2e-5);
      ExpectNear(y[1], present, 1e-5);
    }
  }
}

TEST(MicrosoftMaskedAttention, MultiHeadAttentionHasABufferWhereItIsToldAPastsLength) {
  const Array q = Random({2, 2, kWidth}), k = Random({2, 2, kWidth}, -1, 1, DataType::kFloat, 2),
              v = Random({2, 2, kWidth}, -1, 1, DataType::kFloat, 3),
              past_k = Random({2, kHeads, kMost, kSize}, -1, 1, DataType::kFloat, 4),
              past_v = Random({2, kHeads, kMost, kSize}, -1, 1, DataType::kFloat, 5);
  const Array new_k = HeadsOf(k, kHeads, kSize), new_v = HeadsOf(v, kHeads, kSize);
  AttentionRule rule;
  rule.added = [](const Dims& i) { return i[3] > i[2] + kPast ? kHidden : 0; };
  const Array expected = Merged(AttentionOf(HeadsOf(q, kHeads, kSize), Joined(Begin(past_k, kPast), new_k),
                                            Joined(Begin(past_v, kPast), new_v), rule));
  for (const bool open : {false, true}) {
    Call call("MultiHeadAttention");
    call.In(q).In(k).In(v).Absent().Absent().Absent().In(past_k).In(past_v).In(Int32(kPast));
    call.Int("num_heads", kHeads).Int("unidirectional", 1).Outputs({true, true, true});
    const Arrays y = call.Run({.open = open});
    ExpectNear(y[0], expected, 1e-5);
    ExpectNear(y[1], With(past_k, new_k, kPast), 1e-6);
    ExpectNear(y[2], With(past_v, new_v, kPast), 1e-6);
  }
}

TEST(MicrosoftMaskedAttention, RefusesWhatDoesNotFit) {
  const Token t;
  Call call("DecoderMaskedMultiHeadAttention");
  call.In(t.q).In(t.k).In(t.v).Absent().Absent().In(t.past_k).In(t.past_v).Int("num_heads", kHeads);
  EXPECT_THAT(call.Int("past_present_share_buffer", 1).Failure(), HasSubstr("(past_sequence_length) is missing"));
  Call half("DecoderMaskedMultiHeadAttention");
  EXPECT_THAT(half.In(t.q).In(t.k).Int("num_heads", kHeads).Failure(), HasSubstr("key and value go together"));
  Call cross("DecoderMaskedMultiHeadAttention");
  cross.In(t.q).In(t.past_k).In(t.past_v).Int("num_heads", kHeads).Outputs({true, true, true});
  EXPECT_THAT(cross.Failure(), HasSubstr("neither a past nor a present"));
  Call shared("Attention");
  shared.In(t.q).In(Random({kWidth, 3 * kWidth})).Absent().Absent().In(Stacked(t.past_k, t.past_v));
  shared.Int("num_heads", kHeads).Int("past_present_share_buffer", 1);
  EXPECT_THAT(shared.Failure(), HasSubstr("(past_sequence_length) is missing"));
}

}  // namespace
}  // namespace epiphyte::test::microsoft
