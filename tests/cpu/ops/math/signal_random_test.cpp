// Fourier transforms, windows, random numbers, dropout, losses, and matrices (EyeLike, Trilu, Det).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <utility>

#include "tests/cpu/kernel_harness.h"
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Ge;
using testing::HasSubstr;
using testing::Lt;
using testing::Pointwise;
using testing::ThrowsMessage;

constexpr double kPi = 3.14159265358979323846;

std::vector<float> PlainDft(const std::vector<float>& x, double sign, double scale) {
  const size_t n = x.size() / 2;
  std::vector<float> y;
  for (size_t k = 0; k < n; ++k) {
    std::complex<double> sum;
    for (size_t i = 0; i < n; ++i) {
      sum += std::complex<double>(x[2 * i], x[2 * i + 1]) *
             std::polar(1.0, sign * 2 * kPi * static_cast<double>(k * i % n) / static_cast<double>(n));
    }
    y.push_back(static_cast<float>(sum.real() * scale));
    y.push_back(static_cast<float>(sum.imag() * scale));
  }
  return y;
}

TEST(Dft, AnyLengthAndDirectionAgreesWithTheDefinition) {
  for (int64_t n : {1, 2, 3, 8, 17, 60, 64}) {
    std::vector<float> x;
    for (int64_t i = 0; i < 2 * n; ++i) x.push_back(static_cast<float>(i * 37 % 11) - 5.0f);
    for (bool inverse : {false, true}) {
      OpRunner dft("DFT", 20);
      dft.Attribute("inverse", inverse ? 1 : 0).Input<float>({1, n, 2}, x);
      dft.Run();
      const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
      EXPECT_THAT(dft.Output<float>(0), Pointwise(FloatNear(1e-3f), PlainDft(x, inverse ? 1 : -1, scale))) << n;
    }
  }
}

TEST(Dft, OneSidedThereAndBack) {
  const std::vector<double> x = {1, 5, -2, 0.5, 3, 7};
  OpRunner there("DFT", 20);
  there.Attribute("onesided", 1).Input<double>({1, 6, 1}, x);
  there.Run();
  EXPECT_EQ(there.Dims(0), (Shape{1, 4, 2}));
  OpRunner back("DFT", 20);
  back.Attribute("onesided", 1).Attribute("inverse", 1).InputDatum(there.OutputDatum(0));
  back.Run();
  EXPECT_EQ(back.Dims(0), (Shape{1, 6, 1}));
  EXPECT_THAT(back.Output<double>(0), Pointwise(testing::DoubleNear(1e-12), x));
}

TEST(Dft, TheLengthCutsOrPads) {
  OpRunner dft("DFT", 17);
  dft.Input<float>({1, 3, 1}, {1, 1, 1}).Input<int64_t>({}, {2});
  dft.Run();
  EXPECT_THAT(dft.Output<float>(0), ElementsAre(2, 0, 0, 0));
  for (int64_t length : {int64_t{0}, int64_t{-4}, INT64_MAX}) {
    OpRunner bad("DFT", 17);
    bad.Input<float>({1, 3, 1}, {1, 1, 1}).Input<int64_t>({}, {length});
    EXPECT_THAT([&] { bad.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("length")));
  }
}

TEST(Stft, FramesThatAreLongerThanTheSignalAreAnError) {
  OpRunner stft("STFT", 17);
  stft.Input<float>({1, 3, 1}, {1, 1, 1}).Input<int64_t>({}, {1}).NoInput().Input<int64_t>({}, {4});
  EXPECT_THAT([&] { stft.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("longer")));
}

TEST(Windows, SymmetricOnesEndAsTheyBegin) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    OpRunner window(op, 17);
    window.Attribute("periodic", 0).Attribute("output_datatype", int64_t{EP_TYPE_DOUBLE}).Input<int64_t>({}, {9});
    window.Run();
    const std::vector<double> y = window.Output<double>(0);
    EXPECT_NEAR(y[0], y[8], 1e-12) << op;
    EXPECT_NEAR(y[4], 1.0, 1e-12) << op;
  }
}

TEST(Windows, SizesFromHostileModelsAreErrors) {
  for (int64_t size : {int64_t{-1}, INT64_MAX}) {
    OpRunner window("HannWindow", 17);
    window.Input<int64_t>({}, {size});
    EXPECT_THROW(window.Run(), kit::Error);
  }
}

TEST(Random, ASeedGivesTheNumbersOfNumpysRandomState) {
  // Expected values are those of numpy.random.RandomState(0).uniform(0, 1, 3) and .normal(0, 1, 3).
  OpRunner uniform("RandomUniform", 22);
  uniform.Attribute("seed", 0.0f).Attribute("shape", std::vector<int64_t>{3}).OutputType(0, EP_TYPE_FLOAT);
  uniform.Run();
  EXPECT_THAT(uniform.Output<float>(0),
              ElementsAre(FloatNear(0.5488135f, 1e-6f), FloatNear(0.71518937f, 1e-6f), FloatNear(0.60276338f, 1e-6f)));
  OpRunner normal("RandomNormal", 22);
  normal.Attribute("seed", 0.0f).Attribute("shape", std::vector<int64_t>{3}).OutputType(0, EP_TYPE_FLOAT);
  normal.Run();
  EXPECT_THAT(normal.Output<float>(0),
              ElementsAre(FloatNear(1.76405235f, 1e-6f), FloatNear(0.40015721f, 1e-6f), FloatNear(0.97873798f, 1e-6f)));
}

// 3000 numbers of two words each go far beyond the generator's state of 624 words.
TEST(Random, TheNumbersAreThoseOfTheMersenneTwister) {
  std::mt19937 twister(7);
  OpRunner uniform("RandomUniform", 22), bernoulli("Bernoulli", 22);
  uniform.Attribute("seed", 7.0f).Attribute("shape", std::vector<int64_t>{3000}).OutputType(0, EP_TYPE_DOUBLE);
  uniform.Attribute("dtype", int64_t{EP_TYPE_DOUBLE});
  uniform.Run();
  bernoulli.Attribute("seed", 7.0f).Input<float>({3000}, std::vector<float>(3000, 0.25f));
  bernoulli.Run();
  for (size_t i = 0; i < 3000; ++i) {
    const uint32_t high = static_cast<uint32_t>(twister()) >> 5, low = static_cast<uint32_t>(twister()) >> 6;
    const double expected = (static_cast<double>(high) * 0x1p26 + static_cast<double>(low)) * 0x1p-53;
    ASSERT_EQ(uniform.Output<double>(0)[i], expected) << i;
    ASSERT_EQ(bernoulli.Output<float>(0)[i], expected > 0.75 ? 1 : 0) << i;
  }
}

TEST(Random, WithoutASeedRunsDiffer) {
  OpRunner uniform("RandomUniformLike", 22);
  uniform.Input<float>({64}, std::vector<float>(64)).Attribute("low", -2.0f).Attribute("high", -1.0f);
  uniform.Run();
  const std::vector<float> first = uniform.Output<float>(0);
  uniform.RunAgain();
  EXPECT_NE(first, uniform.Output<float>(0));
  EXPECT_THAT(first, Each(testing::AllOf(Ge(-2.0f), Lt(-1.0f))));
}

TEST(Multinomial, DrawsOnlyWhatIsPossible) {
  OpRunner draw("Multinomial", 22);
  draw.Attribute("sample_size", 100).Attribute("seed", 1.0f);
  draw.Input<float>({1, 3}, {-std::numeric_limits<float>::infinity(), 0, -std::numeric_limits<float>::infinity()});
  draw.Run();
  EXPECT_THAT(draw.Output<int32_t>(0), Each(1));
}

TEST(Bernoulli, CertaintiesStayCertain) {
  OpRunner draw("Bernoulli", 22);
  draw.Attribute("dtype", int64_t{EP_TYPE_BOOL}).Input<float>({4}, {0, 1, 0, 1});
  draw.Run();
  EXPECT_THAT(draw.Output<bool>(0), ElementsAre(false, true, false, true));
}

TEST(Dropout, TrainingScalesWhatItKeeps) {
  OpRunner dropout("Dropout", 13);
  dropout.Outputs(2).Attribute("seed", 7).Input<float>({1000}, std::vector<float>(1000, 1.0f));
  dropout.Input<float>({}, {0.75f}).Input<bool>({}, {true});
  dropout.Run();
  const std::vector<float> y = dropout.Output<float>(0);
  const std::vector<bool> mask = dropout.Output<bool>(1);
  int kept = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], mask[i] ? 4.0f : 0.0f);
    kept += mask[i];
  }
  EXPECT_NEAR(kept, 250, 60);
}

TEST(Dropout, ARatioOfOneIsAnError) {
  OpRunner dropout("Dropout", 13);
  dropout.Input<float>({1}, {1}).Input<float>({}, {1.0f}).Input<bool>({}, {true});
  EXPECT_THAT([&] { dropout.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("ratio")));
}

TEST(Losses, LabelsOutsideOfTheClassesAreErrorsUnlessIgnored) {
  OpRunner loss("NegativeLogLikelihoodLoss", 22);
  loss.Input<float>({2, 2}, {-1, -2, -3, -4}).Input<int64_t>({2}, {1, 5});
  EXPECT_THAT([&] { loss.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("label 5")));
  OpRunner ignoring("NegativeLogLikelihoodLoss", 22);
  ignoring.Attribute("ignore_index", 5).Input<float>({2, 2}, {-1, -2, -3, -4}).Input<int64_t>({2}, {1, 5});
  ignoring.Run();
  EXPECT_THAT(ignoring.Output<float>(0), ElementsAre(2));
}

TEST(Losses, SoftmaxCrossEntropyOfHalfPrecision) {
  OpRunner loss("SoftmaxCrossEntropyLoss", 13);
  loss.Attribute("reduction", "sum").Outputs(2).NoOutput(1);
  loss.Input<cpu::Float16>({1, 2}, {cpu::Float16(1.0f), cpu::Float16(1.0f)}).Input<int32_t>({1}, {0});
  loss.Run();
  EXPECT_NEAR(static_cast<float>(loss.Output<cpu::Float16>(0)[0]), std::log(2.0f), 1e-3f);
}

TEST(Trilu, DiagonalsFarOutsideTakeAllOrNothing) {
  for (bool upper : {true, false}) {
    for (int64_t k : {INT64_MIN, INT64_MAX}) {
      OpRunner trilu("Trilu", 14);
      trilu.Attribute("upper", upper ? 1 : 0).Input<int16_t>({2, 2}, {1, 1, 1, 1}).Input<int64_t>({}, {k});
      trilu.Run();
      EXPECT_THAT(trilu.Output<int16_t>(0), Each((k < 0) == upper ? 1 : 0));
    }
  }
}

TEST(Trilu, KeepsItsPartOfOneMatrixAndOfManyOfEverySize) {
  for (const int64_t batch : {1, 3, 4, 9}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {5, 7}, {70, 3}, {33, 130}, {20, 2100}}) {
      for (const bool upper : {true, false}) {
        for (const int64_t k : {-2, 0, 3}) {
          OpRunner trilu("Trilu", 14);
          const std::vector<int32_t> x = Counting<int32_t>(batch * rows * columns);
          trilu.Attribute("upper", upper ? 1 : 0).Input<int32_t>({batch, rows, columns}, x).Input<int64_t>({}, {k});
          trilu.Run();
          std::vector<int32_t> expected = x;
          for (size_t i = 0; i < expected.size(); ++i) {
            const auto at = static_cast<int64_t>(i);
            const int64_t right = at % columns - at / columns % rows;
            if (upper ? right < k : right > k) expected[i] = 0;
          }
          ASSERT_EQ(trilu.Output<int32_t>(0), expected) << batch << "x" << rows << "x" << columns << ", k " << k;
        }
      }
    }
  }
}

TEST(Trilu, KeepsStringsToo) {
  OpRunner trilu("Trilu", 14);
  trilu.Attribute("upper", 0).Input<std::string>({2, 2}, {"a", "b", "c", "d"});
  trilu.Run();
  EXPECT_THAT(trilu.Output<std::string>(0), ElementsAre("a", "", "c", "d"));
}

TEST(EyeLike, HasAnyTypeAndDiagonal) {
  OpRunner eye("EyeLike", 22);
  eye.Attribute("dtype", int64_t{EP_TYPE_BOOL}).Attribute("k", -1).Input<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  eye.Run();
  EXPECT_THAT(eye.Output<bool>(0), ElementsAre(false, false, false, true, false, false));
  OpRunner far("EyeLike", 22);
  far.Attribute("k", INT64_MIN).Input<float>({1, 1}, {5});
  far.Run();
  EXPECT_THAT(far.Output<float>(0), ElementsAre(0));
}

TEST(Det, PivotsAndKnowsSingularMatrices) {
  OpRunner det("Det", 22);
  det.Input<double>({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4});
  det.Run();
  EXPECT_THAT(det.Output<double>(0), ElementsAre(-6, 0));
}

}  // namespace
}  // namespace epiphyte::test
