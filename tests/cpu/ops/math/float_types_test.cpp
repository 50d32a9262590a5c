// The small float formats, and ONNX's Cast between all types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using cpu::BFloat16;
using cpu::Float16;
using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Float16, EveryValueSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    const float value = static_cast<float>(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(value)))) << bits;
    } else {
      EXPECT_EQ(Float16(value).bits, bits);
    }
  }
}

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(Float16(1.0f + 0x1p-11f).bits, 0x3C00);             // halfway case, rounded down to even
  EXPECT_EQ(Float16(1.0f + 0x1.8p-10f).bits, 0x3C02);           // halfway case, rounded up to even
  EXPECT_EQ(Float16(1.0f + 0x1p-11f + 0x1p-20f).bits, 0x3C01);  // above halfway
  EXPECT_EQ(Float16(0x1p-25f).bits, 0x0000);                    // half of the smallest subnormal, rounded to even
  EXPECT_EQ(Float16(0x1.8p-25f).bits, 0x0001);
  EXPECT_EQ(Float16(65519.0f).bits, 0x7BFF);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7C00);  // infinity
  EXPECT_EQ(Float16(-kInfinity).bits, 0xFC00);
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3F80);
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits, 0x3F80);
  EXPECT_EQ(BFloat16(1.0f + 0x1.8p-7f).bits, 0x3F82);
  EXPECT_EQ(BFloat16(3.4e38f).bits, 0x7F80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(kNaN))));
}

template <typename F>
class Float8Test : public testing::Test {};
using Float8Types = testing::Types<cpu::Float8E4M3FN, cpu::Float8E4M3FNUZ, cpu::Float8E5M2, cpu::Float8E5M2FNUZ>;
TYPED_TEST_SUITE(Float8Test, Float8Types);

TYPED_TEST(Float8Test, EveryValueSurvivesTheWayThroughFloat) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    TypeParam code;
    code.bits = static_cast<uint8_t>(bits);
    const float value = static_cast<float>(code);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << bits;
    } else {
      EXPECT_EQ(static_cast<float>(TypeParam(value, false)), value) << bits;
    }
  }
}

TYPED_TEST(Float8Test, RoundsToTheNearestValue) {
  // Compares with a search over all codes; ties go to the even code.
  for (float value = -70.0f; value < 70.0f; value += 0.037f) {
    float best = kInfinity;
    for (unsigned bits = 0; bits < 256; ++bits) {
      TypeParam code;
      code.bits = static_cast<uint8_t>(bits);
      const float candidate = static_cast<float>(code);
      if (std::fabs(candidate - value) < std::fabs(best - value)) best = candidate;
    }
    EXPECT_EQ(std::fabs(static_cast<float>(TypeParam(value)) - value), std::fabs(best - value)) << value;
  }
}

TEST(Float8, SaturatesAsTheTableOfCastSays) {
  EXPECT_EQ(static_cast<float>(cpu::Float8E4M3FN(1e6f)), 448.0f);
  EXPECT_EQ(static_cast<float>(cpu::Float8E4M3FN(-kInfinity)), -448.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(cpu::Float8E4M3FN(1e6f, false))));
  EXPECT_EQ(static_cast<float>(cpu::Float8E5M2(1e6f)), 57344.0f);
  EXPECT_EQ(static_cast<float>(cpu::Float8E5M2(1e6f, false)), kInfinity);
  EXPECT_EQ(static_cast<float>(cpu::Float8E4M3FNUZ(1e6f)), 240.0f);
  // ONNX's text of opset 19 demands NaN here. ONNX's own test data and its later texts have the largest number.
  EXPECT_EQ(static_cast<float>(cpu::Float8E4M3FNUZ(kInfinity)), 240.0f);
  EXPECT_EQ(static_cast<float>(cpu::Float8E5M2FNUZ(-kInfinity)), -57344.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(cpu::Float8E4M3FNUZ(kInfinity, false))));
  EXPECT_TRUE(std::isnan(static_cast<float>(cpu::Float8E5M2FNUZ(-kInfinity, false))));
  EXPECT_EQ(cpu::Float8E5M2FNUZ(-0.0f).bits, 0);
  EXPECT_EQ(cpu::Float8E5M2(-0.0f).bits, 0x80);
}

TEST(Float8E8M0, RoundsAsAsked) {
  using F = cpu::Float8E8M0;
  EXPECT_EQ(static_cast<float>(F(3.0f, true, F::Rounding::kUp)), 4.0f);
  EXPECT_EQ(static_cast<float>(F(3.0f, true, F::Rounding::kDown)), 2.0f);
  EXPECT_EQ(static_cast<float>(F(2.9f, true, F::Rounding::kNearest)), 2.0f);
  EXPECT_EQ(static_cast<float>(F(3.1f, true, F::Rounding::kNearest)), 4.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(F(kInfinity))));
}

TEST(Float4E2M1, RoundsToNearestEvenAndSaturates) {
  const std::pair<float, float> cases[] = {{0.25f, 0.0f}, {0.75f, 1.0f}, {1.25f, 1.0f}, {1.75f, 2.0f}, {2.5f, 2.0f},
                                           {3.5f, 4.0f},  {5.0f, 4.0f},  {5.1f, 6.0f},  {1e9f, 6.0f},  {-0.6f, -0.5f}};
  for (const auto& [from, to] : cases) EXPECT_EQ(static_cast<float>(cpu::Float4E2M1(from)), to) << from;
}

TEST(RoundToOdd, RoundsDoublesToHalfOnce) {
  // The value is just above the middle between two float16 numbers. Rounding to float first would give the middle.
  const double value = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(Float16(static_cast<float>(value)).bits, 0x3C00);
  EXPECT_EQ(Float16(cpu::RoundToOdd(value)).bits, 0x3C01);
}

OpRunner Cast(cpu::Datum input, cpu::ElementType to, int64_t version = 24) {
  OpRunner cast("Cast", version);
  cast.Attribute("to", int64_t{to}).InputDatum(std::move(input));
  cast.Run();
  return cast;
}

TEST(Cast, FloatsTruncateTowardsZero) {
  const auto x = MakeDatum<float>({4}, {1.9f, -1.9f, 300.0f, -1.0f});
  EXPECT_THAT(Cast(x, EP_TYPE_INT32).Output<int32_t>(0), ElementsAre(1, -1, 300, -1));
  EXPECT_THAT(Cast(x, EP_TYPE_UINT8).Output<uint8_t>(0), ElementsAre(1, 255, 44, 255));
}

TEST(Cast, FloatsThatNoIntegerHoldsGiveTheSmallestOne) {
  const auto x = MakeDatum<float>({3}, {1e20f, -1e20f, kNaN});
  EXPECT_THAT(Cast(x, EP_TYPE_INT64).Output<int64_t>(0),
              ElementsAre(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min(),
                          std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(Cast(x, EP_TYPE_BOOL).Output<bool>(0), ElementsAre(true, true, true));
}

TEST(Cast, IntegersLoseHighBits) {
  const auto x = MakeDatum<int64_t>({2}, {257, -1});
  EXPECT_THAT(Cast(x, EP_TYPE_UINT8).Output<uint8_t>(0), ElementsAre(1, 255));
  EXPECT_THAT(Cast(x, EP_TYPE_INT16).Output<int16_t>(0), ElementsAre(257, -1));
}

// ONNX leaves the result for a number out of range undefined. ONNX's test data has the nearest number up to opset 23.
// From opset 24 on it has the low bits of the integer, as for wider integers.
TEST(Cast, PacksFourBitIntegers) {
  const auto x = MakeDatum<float>({5}, {-9.0f, -1.0f, 2.5f, 3.5f, 100.0f});
  for (const int64_t version : {21, 23, 24, 25}) {
    const OpRunner cast = Cast(x, EP_TYPE_INT4, version);
    ASSERT_EQ(cast.OutputTensor(0).Bytes(), 3u);
    const OpRunner back = Cast(cast.OutputDatum(0), EP_TYPE_INT8);
    if (version < 24) {
      EXPECT_THAT(back.Output<int8_t>(0), ElementsAre(-8, -1, 2, 4, 7));
    } else {
      EXPECT_THAT(back.Output<int8_t>(0), ElementsAre(7, -1, 2, 3, 4));
    }
    EXPECT_EQ(cast.OutputTensor(0).as<uint8_t>()[2] >> 4, 0);  // the unused half of the last byte
  }
}

TEST(Cast, FloatsToTwoBitIntegers) {
  const auto x = MakeDatum<float>({6}, {-3.0f, -2.0f, -0.5f, 1.75f, 3.0f, 5.0f});
  const auto back = [&](cpu::ElementType type) {
    return Cast(Cast(x, type, 25).OutputDatum(0), EP_TYPE_INT8).Output<int8_t>(0);
  };
  EXPECT_THAT(back(EP_TYPE_INT2), ElementsAre(1, -2, 0, 1, -1, 1));
  EXPECT_THAT(back(EP_TYPE_UINT2), ElementsAre(1, 2, 0, 1, 3, 1));
}

TEST(Cast, PacksTwoBitIntegers) {
  const OpRunner cast = Cast(MakeDatum<int32_t>({5}, {0, 1, 2, 3, 4}), EP_TYPE_UINT2);
  ASSERT_EQ(cast.OutputTensor(0).Bytes(), 2u);
  EXPECT_THAT(Cast(cast.OutputDatum(0), EP_TYPE_INT64).Output<int64_t>(0), ElementsAre(0, 1, 2, 3, 0));
}

TEST(Cast, EveryPairOfNumericTypesKeepsSmallNumbers) {
  const auto x = MakeDatum<int32_t>({3}, {0, 1, 2});
  for (cpu::ElementType from = EP_TYPE_FLOAT; from <= EP_TYPE_INT2; ++from) {
    for (cpu::ElementType to = EP_TYPE_FLOAT; to <= EP_TYPE_INT2; ++to) {
      const auto skip = [](cpu::ElementType type) {
        return type == EP_TYPE_STRING || type == EP_TYPE_BOOL || type == EP_TYPE_COMPLEX64 ||
               type == EP_TYPE_COMPLEX128 || type == EP_TYPE_FLOAT8E8M0 || type == EP_TYPE_INT2;
      };
      if (skip(from) || skip(to)) continue;
      const OpRunner there = Cast(Cast(x, from).OutputDatum(0), to);
      EXPECT_THAT(Cast(there.OutputDatum(0), EP_TYPE_INT32).Output<int32_t>(0), ElementsAre(0, 1, 2))
          << cpu::TypeName(from) << " to " << cpu::TypeName(to);
    }
  }
}

TEST(Cast, StringsToNumbers) {
  const auto x = MakeDatum<std::string>({5}, {"3.14", " -1e-5 ", "+INF", "nan", "1E8"});
  const std::vector<float> y = Cast(x, EP_TYPE_FLOAT).Output<float>(0);
  EXPECT_FLOAT_EQ(y[0], 3.14f);
  EXPECT_FLOAT_EQ(y[1], -1e-5f);
  EXPECT_EQ(y[2], kInfinity);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[4], 1e8f);
  const auto integers = MakeDatum<std::string>({3}, {"9223372036854775807", "-7", "100.5"});
  EXPECT_THAT(Cast(integers, EP_TYPE_INT64).Output<int64_t>(0),
              ElementsAre(std::numeric_limits<int64_t>::max(), -7, 100));
}

TEST(Cast, NumbersToStrings) {
  EXPECT_THAT(Cast(MakeDatum<float>({4}, {314.15926f, 0.1f, -kInfinity, kNaN}), EP_TYPE_STRING).Output<std::string>(0),
              ElementsAre("314.15927", "0.1", "-INF", "NaN"));
  EXPECT_THAT(Cast(MakeDatum<int8_t>({2}, {-128, 5}), EP_TYPE_STRING).Output<std::string>(0), ElementsAre("-128", "5"));
  EXPECT_THAT(Cast(MakeDatum<bool>({2}, {true, false}), EP_TYPE_STRING).Output<std::string>(0), ElementsAre("1", "0"));
}

TEST(Cast, TextThatIsNoNumberIsAnError) {
  for (const char* text : {"Hello World!", "", "1.5x", "--1", "+-1"}) {
    EXPECT_THROW(Cast(MakeDatum<std::string>({1}, {text}), EP_TYPE_FLOAT), kit::Error) << text;
  }
}

TEST(Cast, BeforeOpset6TheTypeIsAName) {
  OpRunner cast("Cast", 1);
  cast.Attribute("to", "INT32").Input<float>({1}, {7.5f});
  cast.Run();
  EXPECT_THAT(cast.Output<int32_t>(0), ElementsAre(7));
}

TEST(Cast, TypesThatDoNotExistAreErrors) {
  for (int64_t type : {int64_t{0}, int64_t{-1}, int64_t{99}, int64_t{EP_TYPE_COMPLEX64}, int64_t{1} << 40}) {
    OpRunner cast("Cast", 13);
    cast.Attribute("to", type).Input<float>({1}, {0.0f});
    EXPECT_THROW(cast.Run(), kit::Error) << type;
  }
}

TEST(CastLike, TakesTheTypeOfTheSecondInput) {
  OpRunner cast("CastLike", 19);
  cast.Input<float>({2}, {1.5f, -2.5f}).Input<int64_t>({0}, {});
  cast.Run();
  EXPECT_THAT(cast.Output<int64_t>(0), ElementsAre(1, -2));
}

}  // namespace
}  // namespace epiphyte::test
