// Attention, RotaryEmbedding and Einsum, compared with plain loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

std::vector<float> Numbers(int64_t count, uint32_t seed) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return numbers;
}

struct Sizes {
  int64_t batch = 2, heads = 4, kv_heads = 2, queries = 5, keys = 7, size = 8, v_size = 6;
};

// Reference attention. visible(b, i, j) says whether query i of batch item b sees key j.
template <typename Visible>
std::vector<float> PlainAttention(const Sizes& s, const std::vector<float>& q, const std::vector<float>& k,
                                  const std::vector<float>& v, const Visible& visible) {
  std::vector<float> y;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      const int64_t kv = b * s.kv_heads + h / (s.heads / s.kv_heads);
      for (int64_t i = 0; i < s.queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          double score = 0;
          for (int64_t d = 0; d < s.size; ++d) {
            score += static_cast<double>(q[static_cast<size_t>(((b * s.heads + h) * s.queries + i) * s.size + d)]) *
                     static_cast<double>(k[static_cast<size_t>((kv * s.keys + j) * s.size + d)]);
          }
          weights.push_back(visible(b, i, j) ? std::exp(score / std::sqrt(static_cast<double>(s.size))) : 0.0);
          sum += weights.back();
        }
        for (int64_t d = 0; d < s.v_size; ++d) {
          double value = 0;
          for (int64_t j = 0; j < s.keys; ++j) {
            value += weights[static_cast<size_t>(j)] *
                     static_cast<double>(v[static_cast<size_t>((kv * s.keys + j) * s.v_size + d)]);
          }
          y.push_back(static_cast<float>(sum == 0 ? 0.0 : value / sum));
        }
      }
    }
  }
  return y;
}

struct Operands {
  Sizes s;
  std::vector<float> q = Numbers(s.batch * s.heads * s.queries * s.size, 1);
  std::vector<float> k = Numbers(s.batch * s.kv_heads * s.keys * s.size, 2);
  std::vector<float> v = Numbers(s.batch * s.kv_heads * s.keys * s.v_size, 3);

  void AddTo(OpRunner& runner) const {
    runner.Input<float>({s.batch, s.heads, s.queries, s.size}, q);
    runner.Input<float>({s.batch, s.kv_heads, s.keys, s.size}, k);
    runner.Input<float>({s.batch, s.kv_heads, s.keys, s.v_size}, v);
  }
};

TEST(Attention, QueryHeadsShareKeysAndValues) {
  const Operands o;
  OpRunner attention("Attention", 23);
  o.AddTo(attention);
  attention.Run();
  EXPECT_THAT(attention.Output<float>(0),
              Pointwise(FloatNear(1e-5f), PlainAttention(o.s, o.q, o.k, o.v, [](auto...) { return true; })));
}

// With few queries, attention reads the keys in their own layout, without packing them.
template <typename T>
void ExpectPlainAttentionOfFewQueries(float bound) {
  Operands o;
  o.s.queries = 1, o.s.keys = 150, o.s.size = 24, o.s.v_size = 40;
  o.q = Numbers(o.s.batch * o.s.heads * o.s.size, 1);
  o.k = Numbers(o.s.batch * o.s.kv_heads * o.s.keys * o.s.size, 2);
  o.v = Numbers(o.s.batch * o.s.kv_heads * o.s.keys * o.s.v_size, 3);
  const auto rounded = [](std::vector<float>& values) {
    std::vector<T> typed;
    for (float& value : values) typed.push_back(static_cast<T>(value)), value = static_cast<float>(typed.back());
    return typed;
  };
  for (bool present : {false, true}) {
    OpRunner attention("Attention", 23);
    attention.Input<T>({o.s.batch, o.s.heads, 1, o.s.size}, rounded(o.q));
    attention.Input<T>({o.s.batch, o.s.kv_heads, o.s.keys, o.s.size}, rounded(o.k));
    attention.Input<T>({o.s.batch, o.s.kv_heads, o.s.keys, o.s.v_size}, rounded(o.v));
    if (present) attention.Outputs(3);
    attention.Run();
    const std::vector<float> expected = PlainAttention(o.s, o.q, o.k, o.v, [](auto...) { return true; });
    const std::vector<T> found = attention.Output<T>(0);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(static_cast<float>(found[i]), expected[i], bound) << i;
    if (present) {
      EXPECT_EQ(attention.Dims(1), (Shape{o.s.batch, o.s.kv_heads, o.s.keys, o.s.size}));
      EXPECT_EQ(static_cast<float>(attention.Output<T>(2).back()), o.v.back());
    }
  }
}
TEST(Attention, OneQueryOfEveryTypeOverManyKeys) {
  ExpectPlainAttentionOfFewQueries<float>(1e-5f);
  ExpectPlainAttentionOfFewQueries<double>(1e-6f);
  ExpectPlainAttentionOfFewQueries<kit::Float16>(5e-4f);
  ExpectPlainAttentionOfFewQueries<kit::BFloat16>(4e-3f);
}

TEST(Attention, CausalityCountsFromTheStartOfTheKeys) {
  const Operands o;
  OpRunner attention("Attention", 23);
  attention.Attribute("is_causal", 1);
  o.AddTo(attention);
  attention.Run();
  EXPECT_THAT(
      attention.Output<float>(0),
      Pointwise(FloatNear(1e-5f), PlainAttention(o.s, o.q, o.k, o.v, [](auto, auto i, auto j) { return j <= i; })));
}

TEST(Attention, PaddingIsHiddenAndRowsThatSeeNothingAreZero) {
  const Operands o;
  OpRunner attention("Attention", 24);
  attention.Attribute("is_causal", 1);
  o.AddTo(attention);
  attention.NoInput().NoInput().NoInput().Input<int64_t>({2}, {3, 6});
  attention.Run();
  const int64_t lengths[] = {3, 6};
  EXPECT_THAT(attention.Output<float>(0),
              Pointwise(FloatNear(1e-5f), PlainAttention(o.s, o.q, o.k, o.v, [&](auto b, auto i, auto j) {
                          return j < lengths[b] && j <= i + lengths[b] - o.s.queries;
                        })));
}

TEST(Attention, MasksOfBoolsAndFloatsMayBeShort) {
  const Operands o;
  std::vector<float> added;
  std::vector<bool> kept;
  for (int64_t i = 0; i < o.s.queries; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      kept.push_back((i + j) % 3 != 0);
      added.push_back(kept.back() ? 0.0f : -std::numeric_limits<float>::infinity());
    }
  }
  const std::vector<float> expected =
      PlainAttention(o.s, o.q, o.k, o.v, [](auto, auto i, auto j) { return j < 6 && (i + j) % 3 != 0; });
  for (const cpu::Datum& mask :
       {MakeDatum<bool>({o.s.queries, 6}, kept), MakeDatum<float>({1, 1, o.s.queries, 6}, added)}) {
    OpRunner attention("Attention", 24);
    o.AddTo(attention);
    attention.InputDatum(mask);
    attention.Run();
    EXPECT_THAT(attention.Output<float>(0), Pointwise(FloatNear(1e-5f), expected));
  }
}

TEST(Attention, MasksOfDoublesKeepTheirBits) {
  // Both values have the weight 1/2, except for the last bits that the mask adds.
  constexpr double kAdded = 0x1p-40;
  OpRunner attention("Attention", 24);
  attention.Input<double>({1, 1, 1, 1}, {0}).Input<double>({1, 1, 2, 1}, {0, 0}).Input<double>({1, 1, 2, 1}, {0, 1});
  attention.Input<double>({1, 2}, {1, 1 + kAdded});
  attention.Run();
  EXPECT_NEAR(attention.Output<double>(0)[0], 0.5 + kAdded / 4, 1e-16);
}

// The soft cap is applied before the mask. A cap after it would make hidden keys visible again.
TEST(Attention, TheFourthOutputIsOneOfFourStages) {
  const float product = 2, capped = 3 * std::tanh(product / 3), masked = capped + 1;
  const float hidden = -std::numeric_limits<float>::infinity();
  const std::vector<float> stages[] = {{product, product}, {capped, capped}, {masked, hidden}, {1, 0}};
  for (const int64_t version : {23, 24}) {
    for (int64_t mode = 0; mode < 4; ++mode) {
      OpRunner attention("Attention", version);
      attention.Attribute("scale", 1.0f).Attribute("softcap", 3.0f).Attribute("qk_matmul_output_mode", mode);
      attention.Input<float>({1, 1, 1, 1}, {2}).Input<float>({1, 1, 2, 1}, {1, 1}).Input<float>({1, 1, 2, 1}, {5, 7});
      attention.Input<float>({1, 2}, {1, hidden}).Outputs(4).Run();
      EXPECT_THAT(attention.Output<float>(0), ElementsAre(5));
      EXPECT_THAT(attention.Output<float>(3), Pointwise(FloatNear(1e-6f), stages[mode])) << mode;
    }
  }
}

TEST(Attention, TheCacheComesFirst) {
  Operands o;
  // The past holds the first three keys and values, the inputs the other four.
  const auto part = [&](const std::vector<float>& all, int64_t width, int64_t from, int64_t to) {
    std::vector<float> taken;
    for (int64_t i = 0; i < o.s.batch * o.s.kv_heads; ++i) {
      taken.insert(taken.end(), all.begin() + (i * o.s.keys + from) * width, all.begin() + (i * o.s.keys + to) * width);
    }
    return taken;
  };
  OpRunner attention("Attention", 23);
  attention.Outputs(3).Attribute("is_causal", 1);
  attention.Input<float>({o.s.batch, o.s.heads, o.s.queries, o.s.size}, o.q);
  attention.Input<float>({o.s.batch, o.s.kv_heads, 4, o.s.size}, part(o.k, o.s.size, 3, 7));
  attention.Input<float>({o.s.batch, o.s.kv_heads, 4, o.s.v_size}, part(o.v, o.s.v_size, 3, 7));
  attention.NoInput();
  attention.Input<float>({o.s.batch, o.s.kv_heads, 3, o.s.size}, part(o.k, o.s.size, 0, 3));
  attention.Input<float>({o.s.batch, o.s.kv_heads, 3, o.s.v_size}, part(o.v, o.s.v_size, 0, 3));
  attention.Run();
  EXPECT_EQ(attention.Output<float>(1), o.k);
  EXPECT_EQ(attention.Output<float>(2), o.v);
  EXPECT_THAT(
      attention.Output<float>(0),
      Pointwise(FloatNear(1e-5f), PlainAttention(o.s, o.q, o.k, o.v, [](auto, auto i, auto j) { return j <= i + 3; })));
}

TEST(Attention, HeadsMayLieSideBySide) {
  // One batch item with two heads of one number each, so the shape [1, 2, 2] means [batch, length, heads].
  OpRunner attention("Attention", 23);
  attention.Attribute("q_num_heads", 2).Attribute("kv_num_heads", 2).Attribute("scale", 1.0f).Outputs(4);
  attention.Attribute("qk_matmul_output_mode", 0);
  attention.Input<float>({1, 1, 2}, {1, 2}).Input<float>({1, 2, 2}, {1, 2, 3, 4}).Input<float>({1, 2, 2}, {5, 6, 5, 6});
  attention.Run();
  EXPECT_EQ(attention.Dims(0), (Shape{1, 1, 2}));
  EXPECT_THAT(attention.Output<float>(0), ElementsAre(FloatNear(5, 1e-5f), FloatNear(6, 1e-5f)));
  EXPECT_THAT(attention.Output<float>(3), ElementsAre(1, 3, 4, 8));
  EXPECT_EQ(attention.Dims(1), (Shape{1, 2, 2, 1}));
  EXPECT_THAT(attention.Output<float>(1), ElementsAre(1, 3, 2, 4));
}

TEST(Attention, ShapesThatDoNotFitAreErrors) {
  OpRunner heads("Attention", 23);
  heads.Input<float>({1, 3, 1, 1}, {0, 0, 0}).Input<float>({1, 2, 1, 1}, {0, 0}).Input<float>({1, 2, 1, 1}, {0, 0});
  EXPECT_THAT([&] { heads.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("3 query heads")));
  OpRunner missing("Attention", 23);
  missing.Input<float>({1, 1, 2}, {0, 0}).Input<float>({1, 1, 2}, {0, 0}).Input<float>({1, 1, 2}, {0, 0});
  EXPECT_THROW(missing.Run(), kit::Error);
}

TEST(RotaryEmbedding, TurnsPairsByThePositionsAngle) {
  const float c = std::cos(0.5f), s = std::sin(0.5f);
  OpRunner halves("RotaryEmbedding", 23);
  halves.Input<float>({1, 1, 1, 4}, {1, 2, 3, 4}).Input<float>({2, 2}, {1, 1, c, 1}).Input<float>({2, 2}, {0, 0, s, 0});
  halves.Input<int64_t>({1, 1}, {1});
  halves.Run();
  EXPECT_THAT(halves.Output<float>(0), Pointwise(FloatNear(1e-6f), std::vector<float>{c - 3 * s, 2, s + 3 * c, 4}));
  OpRunner pairs("RotaryEmbedding", 23);
  pairs.Attribute("interleaved", 1).Attribute("num_heads", 1).Attribute("rotary_embedding_dim", 2);
  pairs.Input<float>({1, 1, 4}, {1, 2, 3, 4}).Input<float>({1, 1, 1}, {c}).Input<float>({1, 1, 1}, {s});
  pairs.Run();
  EXPECT_THAT(pairs.Output<float>(0), Pointwise(FloatNear(1e-6f), std::vector<float>{c - 2 * s, s + 2 * c, 3, 4}));
}

// Heads are longer than the block that is converted from 16 bits at once. Part of each head isn't rotated.
TEST(RotaryEmbedding, SixteenBitsTurnLikeFloats) {
  constexpr int64_t kSize = 1100, kRotated = 1064;
  const std::vector<float> x = Numbers(2 * kSize, 1), c = Numbers(kRotated / 2, 2), s = Numbers(kRotated / 2, 3);
  for (int64_t interleaved : {0, 1}) {
    OpRunner small("RotaryEmbedding", 23), floats("RotaryEmbedding", 23);
    for (OpRunner* runner : {&small, &floats})
      runner->Attribute("interleaved", interleaved).Attribute("rotary_embedding_dim", kRotated);
    const auto add = [&](const Shape& dims, const std::vector<float>& values) {
      std::vector<kit::Float16> halves;
      std::vector<float> widened;
      for (float value : values)
        halves.push_back(kit::Float16(value)), widened.push_back(static_cast<float>(halves.back()));
      small.Input<kit::Float16>(dims, halves);
      floats.Input<float>(dims, widened);
    };
    add({1, 2, 1, kSize}, x);
    add({1, kRotated / 2}, c);
    add({1, kRotated / 2}, s);
    for (OpRunner* runner : {&small, &floats}) runner->Input<int64_t>({1, 1}, {0}).Run();
    const std::vector<float> expected = floats.Output<float>(0);
    const std::vector<kit::Float16> found = small.Output<kit::Float16>(0);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(static_cast<float>(found[i]), expected[i], 0x1p-10) << i;
    // The float result is compared with the definition.
    const int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : kRotated / 2;
    for (int64_t i = 0; i < kRotated / 2; ++i) {
      const auto a = static_cast<float>(kit::Float16(x[static_cast<size_t>(i * step)]));
      const auto b = static_cast<float>(kit::Float16(x[static_cast<size_t>(i * step + other)]));
      const auto cosine = static_cast<float>(kit::Float16(c[static_cast<size_t>(i)]));
      const auto sine = static_cast<float>(kit::Float16(s[static_cast<size_t>(i)]));
      ASSERT_NEAR(expected[static_cast<size_t>(i * step)], cosine * a - sine * b, 1e-6f);
      ASSERT_NEAR(expected[static_cast<size_t>(i * step + other)], sine * a + cosine * b, 1e-6f);
    }
  }
}

TEST(RotaryEmbedding, NegativePositionsCountFromTheEndOfTheCache) {
  const float c = std::cos(0.5f), s = std::sin(0.5f);
  OpRunner rotary("RotaryEmbedding", 23);
  rotary.Input<float>({1, 1, 2, 2}, {1, 2, 1, 2}).Input<float>({2, 1}, {1, c}).Input<float>({2, 1}, {0, s});
  rotary.Input<int64_t>({1, 2}, {-1, -2});
  rotary.Run();
  EXPECT_THAT(rotary.Output<float>(0), Pointwise(FloatNear(1e-6f), std::vector<float>{c - 2 * s, s + 2 * c, 1, 2}));
}

TEST(RotaryEmbedding, PositionsOutsideOfTheCacheAreErrors) {
  for (int64_t position : {int64_t{-2}, int64_t{1}, INT64_MIN, INT64_MAX}) {
    OpRunner rotary("RotaryEmbedding", 23);
    rotary.Input<float>({1, 1, 1, 2}, {1, 2})
        .Input<float>({1, 1}, {1})
        .Input<float>({1, 1}, {0})
        .Input<int64_t>({1, 1}, {position});
    EXPECT_THAT([&] { rotary.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("position")));
  }
}

std::vector<float> Einsum(const std::string& equation, std::vector<cpu::Datum> inputs) {
  OpRunner einsum("Einsum", 12);
  einsum.Attribute("equation", equation);
  for (cpu::Datum& input : inputs) einsum.InputDatum(std::move(input));
  einsum.Run();
  return einsum.Output<float>(0);
}

TEST(Einsum, ContractsTransposesAndTakesDiagonals) {
  const auto a = MakeDatum<float>({2, 2}, {1, 2, 3, 4});
  const auto b = MakeDatum<float>({2, 2}, {5, 6, 7, 8});
  EXPECT_THAT(Einsum("ij,jk->ik", {a, b}), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(Einsum("ij, kj -> ki", {a, b}), ElementsAre(17, 39, 23, 53));
  EXPECT_THAT(Einsum("ij->ji", {a}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(Einsum("ii->i", {a}), ElementsAre(1, 4));
  EXPECT_THAT(Einsum("ii", {a}), ElementsAre(5));
  EXPECT_THAT(Einsum("ij->", {a}), ElementsAre(10));
  EXPECT_THAT(Einsum("ij,ij,ij->j", {a, b, a}), ElementsAre(5 + 63, 24 + 128));
  EXPECT_THAT(Einsum("i,j", {MakeDatum<float>({2}, {1, 2}), MakeDatum<float>({2}, {3, 4})}), ElementsAre(3, 4, 6, 8));
}

// Float equations with two operands use oneDNN's matrix products, for any order of labels. Doubles are summed by loops.
TEST(Einsum, FloatsGiveTheNumbersOfDoublesInEveryOrderOfLabels) {
  const std::map<char, int64_t> sizes = {{'a', 2}, {'b', 3}, {'i', 5}, {'j', 1}, {'k', 4}, {'m', 7}, {'n', 6}};
  for (const char* equation :
       {"bij,bjk->bik", "abi,abk->aik", "aibk,ambk->abim", "aibk,ambk->iamb", "ik,kn->ni",
        "ki,nk->in",    "bik,kn->bin",  "ik,bkn->bin",     "abik,mn->abnmik", "ikm,mkn->in",
        "ab,ab->ab",    "ab,ab->",      "i,n->in",         "k,kn->n",         "mk,k->m",
        "bin,abn->ibn", "jik,jkn->jin", "amkb,bnka->abmn", "ij,jn->in",       "abkm,abmn->bakn"}) {
    const std::string text = equation;
    const std::string terms[] = {text.substr(0, text.find(',')),
                                 text.substr(text.find(',') + 1, text.find('-') - text.find(',') - 1)};
    OpRunner floats("Einsum", 12), doubles("Einsum", 12);
    floats.Attribute("equation", text);
    doubles.Attribute("equation", text);
    for (const std::string& term : terms) {
      Shape dims;
      int64_t count = 1;
      for (char label : term) dims.push_back(sizes.at(label)), count *= dims.back();
      std::vector<float> values(static_cast<size_t>(count));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 29 % 17) - 8);
      floats.Input<float>(dims, values);
      doubles.Input<double>(dims, std::vector<double>(values.begin(), values.end()));
    }
    floats.Run();
    doubles.Run();
    ASSERT_EQ(floats.Dims(0), doubles.Dims(0)) << equation;
    const std::vector<double> expected = doubles.Output<double>(0);
    // The inputs are small integers, so sums are exact.
    ASSERT_EQ(floats.Output<float>(0), std::vector<float>(expected.begin(), expected.end())) << equation;
  }
}

TEST(Einsum, EllipsesBroadcast) {
  const auto a = MakeDatum<float>({2, 1, 2}, {1, 2, 3, 4});
  const auto b = MakeDatum<float>({2, 1}, {10, 1});
  EXPECT_THAT(Einsum("...ij,...jk->...ik", {a, b}), ElementsAre(12, 34));
  EXPECT_THAT(Einsum("...i->...", {a}), ElementsAre(3, 7));
}

TEST(Einsum, EquationsThatMakeNoSenseAreErrors) {
  const auto a = MakeDatum<float>({2, 2}, {1, 2, 3, 4});
  for (const char* equation : {"", "i", "ijk", "ij->k", "ij->ii", "ij,jk->ik", "i1->i", "......ij", "ij->->i"}) {
    EXPECT_THROW(Einsum(equation, {a}), kit::Error) << equation;
  }
  EXPECT_THROW(Einsum("ij,ij->", {a, MakeDatum<float>({2, 3}, {1, 2, 3, 4, 5, 6})}), kit::Error);
}

}  // namespace
}  // namespace epiphyte::test
