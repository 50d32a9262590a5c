// Normalizations with a preceding sum, and the embedding of tokens.
#include <gmock/gmock.h>

#include "tests/onnx/microsoft/call.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Normal {
  Array y, mean, inverse;
};

// Normalization over the last axis. Without `centred` this is RMS normalization.
Normal Normalize(const Array& x, const Array& scale, const Array* bias, double epsilon, bool centred) {
  const int64_t row = x.dims.back();
  Dims kept = x.dims;
  kept.back() = 1;
  Normal normal{x, Make(kept, [](const Dims&) { return 0; }), {}};
  normal.inverse = normal.mean;
  for (int64_t r = 0; r < x.count() / row; ++r) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < row; ++i) mean += x.numbers[static_cast<size_t>(r * row + i)] / static_cast<double>(row);
    if (!centred) mean = 0;
    for (int64_t i = 0; i < row; ++i) {
      const double d = x.numbers[static_cast<size_t>(r * row + i)] - mean;
      square += d * d / static_cast<double>(row);
    }
    const double inverse = 1 / std::sqrt(square + epsilon);
    for (int64_t i = 0; i < row; ++i) {
      double& y = normal.y.numbers[static_cast<size_t>(r * row + i)];
      y = (y - mean) * inverse * scale.At({i}) + (bias == nullptr ? 0 : bias->At({i}));
    }
    normal.mean.numbers[static_cast<size_t>(r)] = mean;
    normal.inverse.numbers[static_cast<size_t>(r)] = inverse;
  }
  return normal;
}

struct Operands {
  Array x, skip, gamma, beta, bias;
  Array sum;
};

// `skip` has the given dimensions. The sum includes the bias if `biased`.
Operands MakeOperands(const Dims& skip_dims, bool biased, DataType type = DataType::kFloat) {
  Operands o{Random({2, 3, 8}, -1, 1, type, 1), Random(skip_dims, -1, 1, type, 2), Random({8}, 0.5, 1.5, type, 3),
             Random({8}, -1, 1, type, 4),       Random({8}, -1, 1, type, 5),       {}};
  o.sum = Make(o.x.dims, [&](const Dims& i) {
    Dims skip(i.end() - static_cast<std::ptrdiff_t>(skip_dims.size()), i.end());
    return o.x.At(i) + o.skip.At(skip) + (biased ? o.bias.At({i[2]}) : 0);
  });
  o.sum.type = type;
  return o;
}

TEST(MicrosoftNormalizations, SkipLayerNormalizationNormalizesTheSumAndReturnsIt) {
  for (const Dims& skip : {Dims{2, 3, 8}, Dims{1, 3, 8}, Dims{3, 8}}) {
    for (const bool biased : {false, true}) {
      const Operands o = MakeOperands(skip, biased);
      const Normal expected = Normalize(o.sum, o.gamma, &o.beta, 1e-5, true);
      for (const int64_t opset : kOpsets) {
        for (const bool open : {false, true}) {
          Call call("SkipLayerNormalization");
          call.In(o.x)
              .In(o.skip)
              .Weights(o.gamma)
              .Weights(o.beta)
              .Float("epsilon", 1e-5f)
              .Outputs({true, true, true, true});
          if (biased) call.Weights(o.bias);
          const Arrays y = call.Run({.opset = opset, .open = open});
          ExpectNear(y[0], expected.y, 2e-5);
          ExpectNear(y[1], expected.mean, 1e-6);
          ExpectNear(y[2], expected.inverse, 1e-5);
          ExpectNear(y[3], o.sum, 1e-6);
        }
      }
    }
  }
}

TEST(MicrosoftNormalizations, SkipLayerNormalizationDoesWithoutBeta) {
  const Operands o = MakeOperands({2, 3, 8}, true);
  const Normal expected = Normalize(o.sum, o.gamma, nullptr, 1e-12, true);
  for (const int64_t opset : {11, 17}) {
    const Arrays y =
        Call("SkipLayerNormalization").In(o.x).In(o.skip).In(o.gamma).Absent().In(o.bias).Run({.opset = opset});
    ExpectNear(y[0], expected.y, 2e-5);
  }
}

TEST(MicrosoftNormalizations, SkipSimplifiedLayerNormalizationHasNoMean) {
  for (const bool biased : {false, true}) {
    const Operands o = MakeOperands({2, 3, 8}, biased);
    const Normal expected = Normalize(o.sum, o.gamma, nullptr, 1e-6, false);
    for (const int64_t opset : kOpsets) {
      Call call("SkipSimplifiedLayerNormalization");
      call.In(o.x).In(o.skip).Weights(o.gamma).Float("epsilon", 1e-6f).Outputs({true, false, true, true});
      if (biased) call.Weights(o.bias);
      const Arrays y = call.Run({.opset = opset});
      ExpectNear(y[0], expected.y, 2e-5);
      ExpectNear(y[1], expected.inverse, 1e-5);
      ExpectNear(y[2], o.sum, 1e-6);
    }
  }
}

TEST(MicrosoftNormalizations, SimplifiedLayerNormalizationIsKnownWithAndWithoutItsDomain) {
  const Array x = Random({2, 3, 8}), scale = Random({8}, 0.5, 1.5, DataType::kFloat, 2);
  const Normal expected = Normalize(x, scale, nullptr, 1e-5, false);
  for (const std::string domain : {"", "com.microsoft"}) {
    for (const int64_t opset : kOpsets) {
      Call call("SimplifiedLayerNormalization", domain);
      call.In(x).Weights(scale).Int("axis", 2).Int("stash_type", 1).Float("epsilon", 1e-5f).Outputs({true, true});
      const Arrays y = call.Run({.opset = opset});
      ExpectNear(y[0], expected.y, 1e-5);
      ExpectNear(y[1], expected.inverse, 1e-5);
    }
  }
  EXPECT_THAT(Call("SimplifiedLayerNormalization", "").In(x).In(scale).Body({.opset = 23}),
              testing::ElementsAre("RMSNormalization"));
}

TEST(MicrosoftNormalizations, SkipSimplifiedLayerNormalizationHasZerosForMeans) {
  const Operands o = MakeOperands({2, 3, 8}, false);
  const Normal expected = Normalize(o.sum, o.gamma, nullptr, 1e-6, false);
  for (const int64_t opset : {9, 11, 13, 17, 18, 21, 23}) {
    for (const bool open : {false, true}) {
      Call call("SkipSimplifiedLayerNormalization");
      call.In(o.x).In(o.skip).Weights(o.gamma).Float("epsilon", 1e-6f).Outputs({true, true, true, true});
      const Arrays y = call.Run({.opset = opset, .open = open});
      ExpectNear(y[0], expected.y, 1e-5);
      ExpectNear(y[1], Make({2, 3, 1}, [](const Dims&) { return 0; }), 0);
      ExpectNear(y[2], expected.inverse, 1e-5);
      ExpectNear(y[3], o.sum, 1e-6);
    }
  }
}

TEST(MicrosoftNormalizations, OfHalfHaveStatisticsInFloat) {
  // The squares of these numbers exceed the range of half.
  Operands o = MakeOperands({2, 3, 8}, false, DataType::kFloat16);
  o.x = Each(o.x, [](double v) { return 512 * v; });
  o.sum = As(Make(o.x.dims, [&](const Dims& i) { return o.x.At(i) + o.skip.At(i); }), DataType::kFloat16);
  for (const int64_t opset : kOpsets) {
    const Arrays y = Call("SkipLayerNormalization").In(o.x).In(o.skip).In(o.gamma).In(o.beta).Run({.opset = opset});
    ExpectNear(y[0], As(Normalize(o.sum, o.gamma, &o.beta, 1e-12, true).y, DataType::kFloat16), 8e-3);
    const Arrays z = Call("SkipSimplifiedLayerNormalization").In(o.x).In(o.skip).In(o.gamma).Run({.opset = opset});
    ExpectNear(z[0], As(Normalize(o.sum, o.gamma, nullptr, 1e-12, false).y, DataType::kFloat16), 8e-3);
  }
}

TEST(MicrosoftNormalizations, EmbedLayerNormalizationSumsWhatTokensPositionsAndSegmentsSay) {
  const auto i32 = [](Dims dims, std::vector<double> n) { return Of(std::move(dims), std::move(n), DataType::kInt32); };
  const Array ids = i32({2, 4}, {1, 2, 3, 0, 4, 4, 2, 1}), segments = i32({2, 4}, {0, 1, 0, 1, 1, 1, 0, 0});
  const Array mask = i32({2, 4}, {1, 1, 1, 0, 1, 0, 0, 0}), positions = i32({2, 4}, {0, 1, 2, 3, 4, 3, 2, 1});
  const Array words = Random({6, 8}), places = Random({5, 8}, -1, 1, DataType::kFloat, 2);
  const Array sections = Random({2, 8}, -1, 1, DataType::kFloat, 3), gamma = Random({8}, 0.5, 1.5, DataType::kFloat, 4);
  const Array beta = Random({8}, -1, 1, DataType::kFloat, 5);
  const auto index = [](const Array& x, const Dims& i) { return static_cast<int64_t>(x.At({i[0], i[1]})); };
  for (const bool with_segments : {false, true}) {
    for (const bool with_mask : {false, true}) {
      for (const bool with_positions : {false, true}) {
        const Array sum = Make({2, 4, 8}, [&](const Dims& i) {
          const int64_t position = with_positions ? index(positions, i) : i[1];
          return words.At({index(ids, i), i[2]}) + places.At({position, i[2]}) +
                 (with_segments ? sections.At({index(segments, i), i[2]}) : 0);
        });
        const Normal expected = Normalize(sum, gamma, &beta, 1e-6, true);
        for (const int64_t opset : {11, 13, 17, 21}) {
          Call call("EmbedLayerNormalization");
          call.In(ids);
          with_segments ? call.In(segments) : call.Absent();
          call.Weights(words).Weights(places);
          with_segments ? call.Weights(sections) : call.Absent();
          call.Weights(gamma).Weights(beta);
          with_mask ? call.In(mask) : call.Absent();
          if (with_positions) call.In(positions);
          call.Float("epsilon", 1e-6f).Outputs({true, true, true});
          const Arrays y = call.Run({.opset = opset, .open = true});
          ExpectNear(y[0], expected.y, 2e-5);
          ExpectNear(y[1], with_mask ? i32({2}, {3, 1}) : i32({2}, {0, 0}), 0);
          ExpectNear(y[2], sum, 1e-6);
        }
      }
    }
  }
}

TEST(MicrosoftNormalizations, EmbedLayerNormalizationWantsSegmentsAndTheirTableTogether) {
  const Array ids = Of({1, 2}, {0, 1}, DataType::kInt32), table = Random({4, 8}), row = Random({8});
  EXPECT_THAT(Call("EmbedLayerNormalization").In(ids).In(ids).In(table).In(table).Absent().In(row).In(row).Failure(),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("segment_embedding")));
}

}  // namespace
}  // namespace epiphyte::test::microsoft
