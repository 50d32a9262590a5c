// LRN, compared with its definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpu/kernel_harness.h"
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

struct Parameters {
  int64_t size;
  float alpha, beta, bias;
};

std::vector<float> Waves(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(3.0f * std::sin(static_cast<float>(i) * 0.7f));
  return values;
}

std::vector<float> ByDefinition(const Shape& dims, const std::vector<float>& x, const Parameters& p) {
  int64_t plane = 1;
  for (size_t i = 2; i < dims.size(); ++i) plane *= dims[i];
  std::vector<float> y;
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    const int64_t c = i / plane % dims[1];
    double sum = 0;
    for (int64_t other = c - (p.size - 1) / 2; other <= c + p.size / 2; ++other) {
      if (other < 0 || other >= dims[1]) continue;
      const double value = x[static_cast<size_t>(i + (other - c) * plane)];
      sum += value * value;
    }
    const double scale = std::pow(p.bias + p.alpha / static_cast<double>(p.size) * sum, -p.beta);
    y.push_back(static_cast<float>(x[static_cast<size_t>(i)] * scale));
  }
  return y;
}

void Set(OpRunner& lrn, const Parameters& p) {
  lrn.Attribute("size", p.size).Attribute("alpha", p.alpha).Attribute("beta", p.beta).Attribute("bias", p.bias);
}

TEST(Lrn, AgreesWithTheDefinition) {
  const Shape dims = {2, 7, 9, 11};
  const std::vector<float> x = Waves(2 * 7 * 99);
  for (const Parameters& p :
       {Parameters{5, 0.5f, 0.75f, 1.0f}, Parameters{4, 0.5f, 0.75f, 2.0f}, Parameters{1, 0.1f, 0.5f, 1.0f},
        Parameters{3, 2.0f, 1.3f, 0.5f}, Parameters{100, 1.0f, 0.75f, 1.0f}}) {
    OpRunner lrn("LRN", 13);
    Set(lrn, p);
    lrn.Input<float>(dims, x).Run();
    EXPECT_THAT(lrn.Output<float>(0), Pointwise(FloatNear(2e-6f), ByDefinition(dims, x, p))) << p.size;
  }
}

TEST(Lrn, OtherTypesAndRanks) {
  const std::vector<float> x = Waves(24);
  const Parameters p{3, 0.5f, 0.75f, 1.0f};
  OpRunner doubles("LRN", 1);
  Set(doubles, p);
  doubles.Input<double>({1, 4, 6}, std::vector<double>(x.begin(), x.end())).Run();
  const std::vector<float> expected = ByDefinition({1, 4, 6}, x, p);
  EXPECT_THAT(doubles.Output<double>(0),
              Pointwise(testing::DoubleNear(1e-6), std::vector<double>(expected.begin(), expected.end())));
  std::vector<cpu::Float16> halves;
  for (float value : x) halves.emplace_back(value);
  OpRunner half("LRN", 13);
  Set(half, p);
  half.Input<cpu::Float16>({2, 3, 4}, halves).Run();
  const std::vector<float> wanted = ByDefinition({2, 3, 4}, x, p);
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(static_cast<float>(half.Output<cpu::Float16>(0)[i]), wanted[i], 4e-3f) << i;
}

TEST(Lrn, SizesAtTheEdge) {
  OpRunner huge("LRN", 13);
  huge.Attribute("size", INT64_MAX).Input<float>({1, 3, 1}, {1, 2, 3}).Run();
  EXPECT_THAT(huge.Output<float>(0), Pointwise(FloatNear(1e-6f), std::vector<float>{1, 2, 3}));
  OpRunner none("LRN", 13);
  none.Attribute("size", 3).Input<float>({1, 0, 2}, {}).Run();
  EXPECT_EQ(none.Dims(0), (Shape{1, 0, 2}));
  OpRunner zero("LRN", 13);
  zero.Attribute("size", 0).Input<float>({1, 1, 1}, {1});
  EXPECT_THAT(Failure(zero), HasSubstr("size is 0"));
  OpRunner flat("LRN", 13);
  flat.Attribute("size", 3).Input<float>({3}, {1, 2, 3});
  EXPECT_NE(Failure(flat), "");
}

}  // namespace
}  // namespace epiphyte::test
