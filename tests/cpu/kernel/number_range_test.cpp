// Numbers that the type of a result can't hold: floats and scalar attributes beyond every integer, NaN, sums and
// products that overflow. C++ leaves most of this undefined; kernels follow the rules of convert.h and arithmetic.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plugins/cpu/kernel/convert.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename To>
To As(double value) {
  return cpu::NumberAs<To>(value);
}
template <typename To>
To Within(double value) {
  return cpu::SaturateTo<To>(value);
}

TEST(NumberAs, OfAFloatThatNoIntegerHoldsIsTheSignBitCutToTheType) {
  for (const double value :
       {1e30, -1e30, static_cast<double>(kInfinity), -static_cast<double>(kInfinity), static_cast<double>(kNaN)}) {
    EXPECT_EQ(As<int64_t>(value), INT64_MIN) << value;
    EXPECT_EQ(As<int32_t>(value), INT32_MIN) << value;
    EXPECT_EQ(As<int16_t>(value), 0) << value;
    EXPECT_EQ(As<uint8_t>(value), 0) << value;
    EXPECT_EQ(As<uint32_t>(value), 0u) << value;
    EXPECT_EQ(As<uint64_t>(value), uint64_t{1} << 63) << value;
  }
  EXPECT_EQ(cpu::NumberAs<int32_t>(0x1p31f), INT32_MIN);
  EXPECT_EQ(cpu::NumberAs<int64_t>(0x1p63f), INT64_MIN);
}

TEST(NumberAs, IsStaticCastWhereThatIsDefined) {
  EXPECT_EQ(As<int32_t>(-2.9), -2);
  EXPECT_EQ(As<int32_t>(2147483647.5), INT32_MAX);
  EXPECT_EQ(As<int64_t>(-0x1p63), INT64_MIN);
  EXPECT_EQ(As<uint64_t>(0x1p63), uint64_t{1} << 63);
  EXPECT_EQ(As<uint32_t>(4294967295.0), UINT32_MAX);
  EXPECT_EQ(As<float>(0.1), 0.1f);
  EXPECT_EQ((cpu::NumberAs<int8_t, int64_t>(300)), 44);
}

TEST(SaturateTo, KeepsToTheRangeAndNaNIsTheLowest) {
  EXPECT_EQ(Within<int8_t>(-128.5), -128);
  EXPECT_EQ(Within<int8_t>(1e30), 127);
  EXPECT_EQ(Within<uint8_t>(-1e30), 0);
  EXPECT_EQ(Within<int64_t>(0x1p63), INT64_MAX);
  EXPECT_EQ(Within<int64_t>(-0x1p64), INT64_MIN);
  EXPECT_EQ(Within<uint64_t>(0x1p64), UINT64_MAX);
  EXPECT_EQ(Within<int32_t>(static_cast<double>(kNaN)), INT32_MIN);
  EXPECT_EQ(Within<int32_t>(2147483646.9), INT32_MAX - 1);
  EXPECT_EQ(cpu::SaturateTo<int32_t>(0x1p31f), INT32_MAX);
  EXPECT_TRUE(std::isnan(cpu::SaturateTo<float>(kNaN)));
}

template <typename T>
std::vector<T> Powers(const std::vector<T>& bases, const std::vector<float>& exponents) {
  const Shape dims = {static_cast<int64_t>(bases.size())};
  OpRunner pow("Pow", 15);
  pow.Input<T>(dims, bases);
  pow.Input<float>(dims, exponents).Run();
  return pow.template Output<T>(0);
}

TEST(NumberRange, PowersOfIntegersThatAreTooLarge) {
  EXPECT_THAT(Powers<int32_t>({10, -10, 2, 0, 2, -2}, {39, 39, kNaN, -1, 0.5f, 31}),
              ElementsAre(INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, 1, INT32_MIN));
  EXPECT_THAT(Powers<int64_t>({10, -2, -1, 3}, {kInfinity, 63, 0.5f, 2}),
              ElementsAre(INT64_MIN, INT64_MIN, INT64_MIN, 9));
  EXPECT_THAT(Powers<uint64_t>({2, 2, 3}, {63, 64, 2}), ElementsAre(uint64_t{1} << 63, uint64_t{1} << 63, 9u));
  EXPECT_THAT(Powers<uint8_t>({16, 7, 9}, {2, 3, 2}), ElementsAre(0, 343 - 256, 81));
  EXPECT_THAT(Powers<int16_t>({-200, 0}, {2, -2}), ElementsAre(40000 - 65536, 0));
}

TEST(NumberRange, ShrunkIntegersWithAHugeBias) {
  const auto shrunk = []<typename T>(T x, float bias) {
    OpRunner shrink("Shrink", 9);
    shrink.Attribute("bias", bias).Attribute("lambd", 1.0f).Input<T>({1}, {x}).Run();
    return shrink.template Output<T>(0)[0];
  };
  EXPECT_EQ(shrunk(int8_t{100}, -200), 44);
  EXPECT_EQ(shrunk(int8_t{-100}, -200), -44);
  EXPECT_EQ(shrunk(int32_t{5}, -1e30f), INT32_MIN);
  EXPECT_EQ(shrunk(int64_t{-5}, kInfinity), INT64_MIN);
  EXPECT_EQ(shrunk(int64_t{-5}, kNaN), INT64_MIN);
  EXPECT_EQ(shrunk(int64_t{-5}, 2), -3);
}

TEST(NumberRange, ClipBoundsBeyondTheTypeDontClip) {
  for (const float bound : {1e30f, kInfinity}) {
    OpRunner clip("Clip", 6);
    clip.Attribute("min", -bound).Attribute("max", bound);
    clip.Input<int32_t>({4}, {INT32_MIN, -5, 5, INT32_MAX}).Run();
    EXPECT_THAT(clip.Output<int32_t>(0), ElementsAre(INT32_MIN, -5, 5, INT32_MAX));
  }
}

template <typename T>
T ProductOf(const std::vector<T>& a, const std::vector<T>& b, T c, float alpha, float beta) {
  const auto k = static_cast<int64_t>(a.size());
  OpRunner gemm("Gemm", 13);
  gemm.Attribute("alpha", alpha).Attribute("beta", beta);
  gemm.Input<T>({1, k}, a);
  gemm.Input<T>({k, 1}, b);
  gemm.Input<T>({1}, {c}).Run();
  return gemm.template Output<T>(0)[0];
}

TEST(NumberRange, GemmOfIntegersWraps) {
  EXPECT_EQ(ProductOf<int32_t>({INT32_MAX, INT32_MIN}, {2, -1}, 2, 1, 1), INT32_MIN);
  EXPECT_EQ(ProductOf<int64_t>({INT64_MAX, INT64_MIN}, {2, -1}, 2, 1, 1), INT64_MIN);
  EXPECT_EQ(ProductOf<int32_t>({3}, {7}, 5, 0.5f, 2), 20);
}

TEST(NumberRange, GemmOfIntegersWithHugeFactors) {
  for (const float factor : {1e30f, -kInfinity, kNaN}) {
    EXPECT_EQ(ProductOf<int32_t>({1}, {1}, 7, factor, 1), INT32_MIN + 7) << factor;
    EXPECT_EQ(ProductOf<int32_t>({1}, {1}, 1, factor, factor), 0) << factor;
    EXPECT_EQ(ProductOf<int64_t>({1}, {1}, 7, factor, 1), INT64_MIN + 7) << factor;
    EXPECT_EQ(ProductOf<uint32_t>({1}, {1}, 7, factor, 1), 7u) << factor;
    EXPECT_EQ(ProductOf<uint64_t>({1}, {1}, 7, factor, 1), (uint64_t{1} << 63) + 7) << factor;
  }
}

TEST(NumberRange, RunningAndReducedSumsOfIntegersWrap) {
  OpRunner running("CumSum", 14);
  running.Input<int32_t>({3}, {INT32_MAX, 1, -1}).Input<int64_t>({}, {0}).Run();
  EXPECT_THAT(running.Output<int32_t>(0), ElementsAre(INT32_MAX, INT32_MIN, INT32_MAX));
  for (const char* op_type : {"ReduceSum", "ReduceL1"}) {
    OpRunner sum(op_type, 18);
    sum.Input<int64_t>({2}, {INT64_MIN, INT64_MIN}).Run();
    EXPECT_THAT(sum.Output<int64_t>(0), ElementsAre(0)) << op_type;
  }
  OpRunner product("ReduceProd", 18);
  product.Input<int64_t>({2}, {INT64_MIN, -1}).Run();
  EXPECT_THAT(product.Output<int64_t>(0), ElementsAre(INT64_MIN));
}

TEST(NumberRange, ReducedIntegersWhoseLogarithmOrRootNoIntegerHolds) {
  for (const int64_t axis : {0, 1}) {
    for (const int32_t number : {0, -1}) {  // the logarithms are -inf and NaN
      OpRunner log("ReduceLogSum", 13);
      log.Attribute("axes", std::vector<int64_t>{axis}).Input<int32_t>({2, 2}, std::vector<int32_t>(4, number)).Run();
      EXPECT_THAT(log.Output<int32_t>(0), ElementsAre(INT32_MIN, INT32_MIN)) << number << ", axis " << axis;
    }
    OpRunner root("ReduceL2", 13);
    root.Attribute("axes", std::vector<int64_t>{axis}).Input<int64_t>({2, 2}, {INT64_MIN, 3, 4, INT64_MAX}).Run();
    EXPECT_THAT(root.Output<int64_t>(0), Each(INT64_MIN)) << axis;
    OpRunner exponentials("ReduceLogSumExp", 13);
    exponentials.Attribute("axes", std::vector<int64_t>{axis}).Input<int64_t>({2, 2}, {INT64_MAX, 0, 0, 7}).Run();
    EXPECT_THAT(exponentials.Output<int64_t>(0), ElementsAre(INT64_MIN, 7)) << axis;
  }
}

TEST(NumberRange, BlocksOfIntegersThatOverlapWrap) {
  OpRunner col2im("Col2Im", 18);
  col2im.Input<int32_t>({1, 2, 2}, {1, INT32_MAX, 1, 3}).Input<int64_t>({1}, {3}).Input<int64_t>({1}, {2}).Run();
  EXPECT_THAT(col2im.Output<int32_t>(0), ElementsAre(1, INT32_MIN, 3));
}

TEST(NumberRange, UnpooledSizesBeyondAllNumbersAreAnError) {
  const int64_t size = (int64_t{1} << 32) + 3;
  OpRunner unpool("MaxUnpool", 11);
  unpool.Attribute("kernel_shape", std::vector<int64_t>{2}).Attribute("strides", std::vector<int64_t>{INT32_MAX});
  unpool.Input<float>({1, 0, size}, {}).Input<int64_t>({1, 0, size}, {});
  EXPECT_THAT(Failure(unpool), HasSubstr("a sum below 2^63 expected"));
}

TEST(NumberRange, ConstantsToPadIntegersWith) {
  const auto padded = []<typename T>(T x, float value) {
    OpRunner pad("Pad", 2);
    pad.Attribute("pads", std::vector<int64_t>{0, 1}).Attribute("value", value).Input<T>({1}, {x}).Run();
    return pad.template Output<T>(0);
  };
  EXPECT_THAT(padded(int32_t{5}, 1e30f), ElementsAre(5, INT32_MIN));
  EXPECT_THAT(padded(int64_t{5}, kNaN), ElementsAre(5, INT64_MIN));
  EXPECT_THAT(padded(uint8_t{5}, 300.0f), ElementsAre(5, 44));
  EXPECT_THAT(padded(int32_t{5}, -7.5f), ElementsAre(5, -7));
}

TEST(NumberRange, ValuesOutsideOfAResizedRegionSaturateInEveryMode) {
  for (const char* mode : {"nearest", "linear"}) {
    const auto resized = [&]<typename T>(const std::vector<T>& x, float outside) {
      OpRunner resize("Resize", 13);
      resize.Attribute("mode", mode).Attribute("coordinate_transformation_mode", "tf_crop_and_resize");
      resize.Attribute("extrapolation_value", outside);
      resize.Input<T>({2}, x).template Input<float>({2}, {0, 3}).NoInput().template Input<int64_t>({1}, {3}).Run();
      return resize.template Output<T>(0);
    };
    EXPECT_THAT(resized(std::vector<uint8_t>{7, 9}, 1000), ElementsAre(7, 255, 255)) << mode;
    EXPECT_THAT(resized(std::vector<uint8_t>{7, 9}, -1), ElementsAre(7, 0, 0)) << mode;
    EXPECT_THAT(resized(std::vector<int32_t>{7, 9}, 1e30f), ElementsAre(7, INT32_MAX, INT32_MAX)) << mode;
    EXPECT_THAT(resized(std::vector<int32_t>{7, 9}, kNaN), ElementsAre(7, INT32_MIN, INT32_MIN)) << mode;
    EXPECT_THAT(resized(std::vector<int32_t>{7, 9}, -5), ElementsAre(7, -5, -5)) << mode;
  }
}

TEST(NumberRange, RequantizedSumsThatAreNoNumbersAreTheLowest) {
  for (const float scale : {kNaN, kInfinity}) {
    OpRunner conv("QLinearConv", 10);
    conv.Input<uint8_t>({1, 1, 1, 2}, {3, 1}).Input<float>({}, {scale}).Input<uint8_t>({}, {1});
    conv.Input<int8_t>({1, 1, 1, 1}, {0}).Input<float>({1}, {1}).Input<int8_t>({1}, {0});
    conv.Input<float>({}, {0.5f}).Input<int8_t>({}, {10}).Run();
    EXPECT_THAT(conv.Output<int8_t>(0), Each(-128)) << scale;
  }
}

TEST(NumberRange, ABlockLargerThanAnyAxisIsOneBlock) {
  OpRunner quantize("QuantizeLinear", 21);
  quantize.Attribute("axis", 1).Attribute("block_size", INT64_MAX);
  quantize.Input<float>({1, 3}, {1, 2, 3}).Input<float>({1, 1}, {0.5f}).Run();
  EXPECT_THAT(quantize.Output<uint8_t>(0), ElementsAre(2, 4, 6));
}

TEST(NumberRange, MelEdgesOutsideOfTheSpectrumAreAnError) {
  for (const float upper : {1e30f, kInfinity, kNaN}) {
    OpRunner mel("MelWeightMatrix", 17);
    mel.Input<int64_t>({}, {8}).Input<int64_t>({}, {16}).Input<int64_t>({}, {8192});
    mel.Input<float>({}, {0}).Input<float>({}, {upper});
    EXPECT_THAT(Failure(mel), HasSubstr("an edge lies at bin")) << upper;
  }
}

TEST(NumberRange, LpPoolTakesAnyFloatForItsPower) {
  OpRunner pool("LpPool", 1);
  pool.Attribute("kernel_shape", std::vector<int64_t>{2})
      .Attribute("p", kInfinity)
      .Input<float>({1, 1, 2}, {1, 1})
      .Run();
  EXPECT_THAT(pool.Output<float>(0), ElementsAre(1));
}

TEST(NumberRange, GroupsBeyondAllChannelsDontFit) {
  for (const int64_t group : {int64_t{1} << 62, INT64_MAX}) {
    OpRunner conv("Conv", 11);
    conv.Attribute("group", group).Input<double>({1, 4, 3}, std::vector<double>(12));
    conv.Input<double>({4, 4, 1}, std::vector<double>(16));
    EXPECT_THAT(Failure(conv), HasSubstr("don't fit together")) << group;
  }
}

TEST(NumberRange, AHiddenSizeThatNoWeightsCanHaveIsAnError) {
  for (const int64_t hidden : {INT64_MAX, INT64_MIN}) {
    OpRunner lstm("LSTM", 14);
    lstm.Attribute("hidden_size", hidden).Input<float>({1, 1, 1}, {1});
    lstm.Input<float>({1, 4, 1}, {0, 0, 0, 1}).Input<float>({1, 4, 1}, {0, 0, 0, 0});
    EXPECT_THAT(Failure(lstm), HasSubstr("hidden_size " + std::to_string(hidden) + " found, 1 expected"));
  }
}

TEST(NumberRange, PartsOfAnEmptyProductBeyondAllNumbersAreAnError) {
  const int64_t size = int64_t{1} << 40;
  OpRunner einsum("Einsum", 12);
  einsum.Attribute("equation", "ij,jk,kl->il");
  einsum.Input<float>({size, 0}, {}).Input<float>({0, size}, {}).Input<float>({size, 0}, {});
  EXPECT_THAT(Failure(einsum), HasSubstr("a product below 2^63 expected"));
  OpRunner empty("Einsum", 12);
  empty.Attribute("equation", "ij,jk->ki").Input<float>({size, 0}, {}).Input<float>({0, 0}, {}).Run();
  EXPECT_EQ(empty.Dims(0), (Shape{0, size}));
}

// Returns the message with which a plan of one Add fails.
std::string FailureOfAdd(const Shape& a, const Shape& b) {
  PlanBuilder builder;
  const int32_t x = builder.Input({-1, -1, -1}), y = builder.Input({-1, -1, -1});
  builder.Output(builder.Node("Add", 14, {x, y}, {-1, -1, -1}));
  PlanRunner runner(builder.Take());
  try {
    runner.Run({{}, {}}, {a, b});
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

TEST(NumberRange, DimensionsOfEmptyTensorsMayBeMultiplied) {
  const int64_t size = int64_t{1} << 40;
  EXPECT_EQ(FailureOfAdd({size, 1, 0}, {1, 1, 0}), "");
  EXPECT_THAT(FailureOfAdd({0, size, size}, {1, 1, 1}), HasSubstr("an input of shape [0,1099511627776,1099511627776]"));
  EXPECT_THAT(FailureOfAdd({size, 1, 0}, {1, size, 0}),
              HasSubstr("an output of shape [1099511627776,1099511627776,0]; at most 2^44 elements expected"));
}

}  // namespace
}  // namespace epiphyte::test
