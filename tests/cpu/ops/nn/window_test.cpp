// Windows over shapes from hostile files: with strides, dilations, pads and kernels of 2^28 and more, the result is
// right or an error says what isn't possible. Padding of that size must not take hours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "epiphyte/kit/fuse/operators.hpp"
#include "tests/cpu/exec/plan_host.h"
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<int64_t>;

constexpr int64_t kHuge = int64_t{1} << 28;
constexpr int64_t kMost = int64_t{1} << 31;

OpRunner Pool(const std::string& op_type, const Numbers& kernel, const Numbers& pads, const Numbers& strides) {
  OpRunner runner(op_type, 11);
  runner.Attribute("kernel_shape", kernel).Attribute("pads", pads).Attribute("strides", strides);
  return runner;
}

TEST(Pool, AHugeWindowSeesTheFewElementsThatAreThere) {
  OpRunner max = Pool("MaxPool", {kHuge}, {kHuge - 1, kHuge - 1}, {kHuge});
  max.Input<float>({1, 1, 2}, {-3, -5});
  max.Run();
  EXPECT_THAT(max.Output<float>(0), ElementsAre(-3, -5));
  OpRunner average = Pool("AveragePool", {kHuge}, {kHuge - 1, kHuge - 1}, {kHuge});
  average.Attribute("count_include_pad", 1).Input<double>({1, 1, 2}, {3.0 * kHuge, 5.0 * kHuge});
  average.Run();
  EXPECT_THAT(average.Output<double>(0), ElementsAre(3, 5));
}

TEST(Pool, MoreTapsThanANumberCanCountAreNoProblem) {
  for (const char* op_type : {"MaxPool", "AveragePool"}) {
    OpRunner runner = Pool(op_type, {kMost, kMost, kMost}, Numbers(6, kMost - 1), {kMost, kMost, kMost});
    runner.Input<float>({1, 1, 1, 1, 1}, {-7});
    runner.Run();
    EXPECT_THAT(runner.Output<float>(0), ElementsAre(-7)) << op_type;
  }
}

TEST(Pool, DilatedHugelyReadsOnlyWhatIsInside) {
  OpRunner runner = Pool("MaxPool", {3}, {kHuge, kHuge}, {1});
  runner.Attribute("dilations", Numbers{kHuge}).Outputs(2).Input<float>({1, 1, 3}, {4, 5, 6});
  runner.Run();
  EXPECT_THAT(runner.Output<float>(0), ElementsAre(4, 5, 6));
  EXPECT_THAT(runner.Output<int64_t>(1), ElementsAre(0, 1, 2));
}

TEST(Pool, OfNothingButPaddingTheIndicesAreThoseOfTheFirstElement) {
  for (const int64_t storage_order : {0, 1}) {
    OpRunner runner = Pool("MaxPool", {2, 2}, {1, 1, 1, 1}, {1, 1});
    runner.Attribute("storage_order", storage_order).Outputs(2).Input<float>({1, 1, 0, 3}, {});
    runner.Run();
    EXPECT_EQ(runner.Dims(1), (Shape{1, 1, 1, 4}));
    EXPECT_THAT(runner.Output<int64_t>(1), ElementsAre(0, 0, 0, 0));
  }
}

TEST(Pool, AResultTooLargeForAnyMemoryIsAnError) {
  for (const char* op_type : {"MaxPool", "AveragePool", "LpPool"}) {
    OpRunner runner = Pool(op_type, {kMost, kMost}, Numbers(4, kMost - 1), {1, 1});
    runner.Input<float>({1, 1, 8, 8}, std::vector<float>(64, 1));
    EXPECT_THAT(Failure(runner), HasSubstr("fewer than 2^57 elements")) << op_type;
  }
}

TEST(Pool, PadsAreCountedAsBeforeForOrdinaryWindows) {
  OpRunner runner = Pool("AveragePool", {2, 2}, {1, 0, 0, 1}, {1, 1});
  runner.Attribute("count_include_pad", 1).Attribute("dilations", Numbers{1, 1});
  runner.Input<double>({1, 1, 2, 2}, {4, 8, 16, 32});
  runner.Run();
  EXPECT_EQ(runner.Dims(0), (Shape{1, 1, 2, 2}));
  EXPECT_THAT(runner.Output<double>(0), ElementsAre(3, 2, 15, 10));
}

// Windows over images. Pooling and convolution use other code for them in float than in double.
struct Geometry {
  Shape x;
  Numbers kernel, strides, dilations, pads;
};
std::vector<Geometry> Geometries() {
  return {{{1, 3, 12, 20}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
          {{2, 3, 9, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
          {{1, 2, 7, 7}, {2, 3}, {1, 3}, {2, 1}, {0, 1, 1, 2}},
          {{2, 2, 7, 5}, {7, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
          {{2, 4, 19}, {5}, {2}, {2}, {3, 4}},
          {{1, 2, 4, 4}, {3, 3}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
          {{1, 2, 3, 4, 5}, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}}};
}
template <typename T>
std::vector<T> Wavy(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<int>(i * 37 % 101) - 50) / T(16);
  return values;
}
int64_t CountOf(const Shape& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}
template <typename T>
OpRunner Windowed(const std::string& op_type, int64_t version, const Geometry& g) {
  OpRunner runner(op_type, version);
  runner.Attribute("kernel_shape", g.kernel).Attribute("strides", g.strides).Attribute("pads", g.pads);
  runner.Attribute("dilations", g.dilations).Input<T>(g.x, Wavy<T>(CountOf(g.x)));
  return runner;
}
void ExpectTheSame(OpRunner& floats, OpRunner& doubles) {
  floats.Run();
  doubles.Run();
  ASSERT_EQ(floats.Dims(0), doubles.Dims(0));
  const std::vector<double> expected = doubles.Output<double>(0);
  const std::vector<float> found = floats.Output<float>(0);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(Pool, FloatsGiveTheNumbersOfDoubles) {
  for (const Geometry& g : Geometries()) {
    for (int variant = 0; variant < 6; ++variant) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(g.x) << " variant " << variant);
      const char* const op_type = variant < 2 ? "MaxPool" : "AveragePool";
      OpRunner floats = Windowed<float>(op_type, 19, g), doubles = Windowed<double>(op_type, 19, g);
      for (OpRunner* runner : {&floats, &doubles})
        runner->Attribute("ceil_mode", variant % 2).Attribute("count_include_pad", variant < 4 ? 0 : 1);
      ExpectTheSame(floats, doubles);
      // Convolutions leave images with channels last.
      OpRunner last = Windowed<float>(op_type, 19, g);
      last.Attribute("ceil_mode", variant % 2).Attribute("count_include_pad", variant < 4 ? 0 : 1);
      cpu::AxisOrder order = cpu::AxisOrder::RowMajor(g.x.size());
      std::rotate(order.axes.begin() + 1, order.axes.begin() + 2, order.axes.begin() + order.rank);
      ExpectTheSame(last.InOrder(0, order), doubles);
    }
  }
}

// Calls visit(window, values, indices) for each window, with its elements inside the image in order.
template <typename T, typename Visit>
void ForEachWindow(const Geometry& g, const std::vector<T>& x, const Shape& y, const Visit& visit) {
  const size_t spatial = g.kernel.size();
  const int64_t planes = g.x[0] * g.x[1], in_plane = CountOf(g.x) / planes, out_plane = CountOf(y) / planes;
  for (int64_t i = 0; i < planes * out_plane; ++i) {
    std::vector<T> values;
    std::vector<int64_t> indices;
    for (int64_t tap = 0; tap < CountOf(g.kernel); ++tap) {
      int64_t offset = 0, step = 1, at = i % out_plane, rest = tap;
      bool inside = true;
      for (size_t d = spatial; d-- > 0;) {
        const int64_t place = at % y[d + 2] * g.strides[d] + rest % g.kernel[d] * g.dilations[d] - g.pads[d];
        inside &= place >= 0 && place < g.x[d + 2];
        offset += place * step;
        step *= g.x[d + 2];
        at /= y[d + 2];
        rest /= g.kernel[d];
      }
      if (!inside) continue;
      indices.push_back(i / out_plane * in_plane + offset);
      values.push_back(x[static_cast<size_t>(indices.back())]);
    }
    visit(static_cast<size_t>(i), values, indices);
  }
}

// The index is that of the first of equal elements, or of the first NaN anywhere in the window.
template <typename T>
void ExpectPlainMaxima() {
  for (const Geometry& g : Geometries()) {
    for (size_t outputs : {size_t{1}, size_t{2}}) {
      std::vector<float> x = Wavy<float>(CountOf(g.x));
      for (float& value : x) value = std::round(value);  // makes some elements equal
      x[3] = x[40 % x.size()] = NAN;
      std::vector<T> typed;
      for (float value : x) typed.push_back(static_cast<T>(value));
      OpRunner pool("MaxPool", 12);
      pool.Attribute("kernel_shape", g.kernel).Attribute("strides", g.strides).Attribute("pads", g.pads);
      pool.Attribute("dilations", g.dilations).Outputs(outputs).template Input<T>(g.x, typed).Run();
      std::vector<float> y;
      for (const T value : pool.Output<T>(0)) y.push_back(static_cast<float>(value));
      const std::vector<int64_t> indices = outputs == 2 ? pool.Output<int64_t>(1) : std::vector<int64_t>();
      ForEachWindow(g, x, pool.Dims(0),
                    [&](size_t i, const std::vector<float>& values, const std::vector<int64_t>& at) {
                      size_t best = 0;
                      for (size_t v = 1; v < values.size(); ++v)
                        if (!std::isnan(values[best]) && !(values[v] <= values[best])) best = v;
                      const float expected = values.empty() ? -INFINITY : values[best];
                      ASSERT_TRUE(y[i] == expected || (std::isnan(y[i]) && std::isnan(expected))) << i << ": " << y[i];
                      if (outputs == 2 && !values.empty()) {
                        ASSERT_EQ(indices[i], at[best]) << i;
                      }
                    });
    }
  }
}
TEST(Pool, MaximaAndTheirIndicesAreThoseOfPlainLoops) {
  ExpectPlainMaxima<double>();
  ExpectPlainMaxima<kit::Float16>();
}

TEST(Pool, NormsAndAveragesAreThoseOfPlainLoops) {
  for (const Geometry& g : Geometries()) {
    for (int64_t power : {0, 1, 2, 3}) {  // power 0 is the average
      OpRunner pool = Windowed<double>(power == 0 ? "AveragePool" : "LpPool", 19, g);
      if (power != 0) pool.Attribute("p", power);
      pool.Run();
      const std::vector<double> x = Wavy<double>(CountOf(g.x)), y = pool.Output<double>(0);
      ForEachWindow(g, x, pool.Dims(0), [&](size_t i, const std::vector<double>& values, const std::vector<int64_t>&) {
        double sum = 0;
        for (double value : values) sum += power == 0 ? value : std::pow(std::fabs(value), power);
        const double expected = power != 0       ? std::pow(sum, 1.0 / static_cast<double>(power))
                                : values.empty() ? 0
                                                 : sum / static_cast<double>(values.size());
        ASSERT_NEAR(y[i], expected, 1e-12 * (1 + std::fabs(expected))) << "power " << power << ", window " << i;
      });
    }
  }
}

TEST(Conv, FiltersOfOneChannelGiveTheNumbersOfDoubles) {
  for (const Geometry& g : Geometries()) {
    for (int64_t per_channel : {1, 2}) {
      for (bool constant : {false, true}) {
        SCOPED_TRACE(testing::Message() << testing::PrintToString(g.x) << ", " << per_channel << " a channel");
        Shape w{g.x[1] * per_channel, 1};
        w.insert(w.end(), g.kernel.begin(), g.kernel.end());
        OpRunner floats = Windowed<float>("Conv", 11, g), doubles = Windowed<double>("Conv", 11, g);
        floats.Attribute("group", g.x[1]);
        doubles.Attribute("group", g.x[1]);
        const std::vector<float> weights = Wavy<float>(CountOf(w)), bias = Wavy<float>(w[0]);
        constant ? floats.Constant<float>(w, weights) : floats.Input<float>(w, weights);
        floats.Input<float>({w[0]}, bias);
        doubles.Input<double>(w, Wavy<double>(CountOf(w))).Input<double>({w[0]}, Wavy<double>(w[0]));
        ExpectTheSame(floats, doubles);
      }
    }
  }
}

TEST(Conv, FusedFiltersOfOneChannelAddTheResidualBeforeTheActivation) {
  OpRunner conv("Conv", 1, std::string(kit::fuse::kDomain));
  conv.Attribute("group", 2).Attribute("activation", "Relu").Attribute("pads", Numbers{1, 1});
  conv.Input<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}).Constant<float>({2, 1, 3}, {0, 1, 0, 1, 0, -1});
  conv.Input<float>({2}, {0.5f, 0}).Input<float>({1, 2, 3}, {-9, 0, 1, 20, 0, 0});
  conv.Run();
  EXPECT_THAT(conv.Output<float>(0), ElementsAre(0, 2.5f, 4.5f, 15, 0, 5));
}

// Three windows over [1, 2, 3, 4] in huge padding: the first and the last see padding only, the second sees 1, 2 and 3.
template <typename T>
OpRunner PaddedConv(bool bias) {
  OpRunner runner("Conv", 11);
  runner.Attribute("pads", Numbers{kHuge, kHuge}).Attribute("strides", Numbers{kHuge});
  runner.Input<T>({1, 1, 4}, {T(1), T(2), T(3), T(4)}).template Input<T>({1, 1, 3}, {T(1), T(10), T(100)});
  if (bias) runner.Input<T>({1}, {T(0.5)});
  return runner;
}
TEST(Conv, FarAwayWindowsSeePadding) {
  for (const bool bias : {false, true}) {
    const float b = bias ? 0.5f : 0.0f;
    OpRunner single = PaddedConv<float>(bias);
    single.Run();
    EXPECT_THAT(single.Output<float>(0), ElementsAre(b, 321 + b, b));
    OpRunner twice = PaddedConv<double>(bias);
    twice.Run();
    EXPECT_THAT(twice.Output<double>(0), ElementsAre(b, 321 + b, b));
  }
  OpRunner integer("ConvInteger", 10);
  integer.Attribute("pads", Numbers{kHuge, kHuge}).Attribute("strides", Numbers{kHuge});
  integer.Input<uint8_t>({1, 1, 4}, {1, 2, 3, 4}).Input<uint8_t>({1, 1, 3}, {1, 10, 100});
  integer.Run();
  EXPECT_THAT(integer.Output<int32_t>(0), ElementsAre(0, 321, 0));
}

// A negative pad cuts off elements at the border.
TEST(Conv, NegativePadsCutTheInput) {
  const auto run = [](auto one, const Numbers& pads) {
    using T = decltype(one);
    OpRunner conv("Conv", 11);
    conv.Attribute("pads", pads);
    conv.Input<T>({1, 1, 5}, {T(1), T(2), T(3), T(4), T(5)}).template Input<T>({1, 1, 2}, {T(1), T(10)});
    conv.Run();
    return conv.Output<T>(0);
  };
  EXPECT_THAT(run(1.0f, {-1, 0}), ElementsAre(32, 43, 54));
  EXPECT_THAT(run(1.0f, {0, -2}), ElementsAre(21, 32));
  EXPECT_THAT(run(1.0f, {-1, 1}), ElementsAre(32, 43, 54, 5));
  EXPECT_THAT(run(1.0, {-1, -1}), ElementsAre(32, 43));
  OpRunner integer("ConvInteger", 10);
  integer.Attribute("pads", Numbers{-1, -1});
  integer.Input<uint8_t>({1, 1, 5}, {1, 2, 3, 4, 5}).Input<uint8_t>({1, 1, 2}, {1, 10});
  integer.Run();
  EXPECT_THAT(integer.Output<int32_t>(0), ElementsAre(32, 43));
}

TEST(Conv, NegativePadsBeforeAnActivationGiveTheSameNumbers) {
  PlanBuilder b;
  const int32_t x = b.Input({1, 1, 5});
  const int32_t conv =
      b.Node("Conv", 11, {x, b.Constant({1, 1, 2}, {1, -1})}, {1, 1, 3}, {kit::ir::Attribute::Ints("pads", {-1, 0})});
  b.Output(b.Node("Relu", 14, {conv}, {1, 1, 3}));
  EXPECT_THAT(PlanRunner(b.Take()).Run({{1, 2, 5, 4, 9}}), ElementsAre(0, 1, 0));
}

TEST(Conv, TapsFarApartReadTheOneThatIsInside) {
  constexpr int64_t kFar = int64_t{1} << 30;
  OpRunner conv("Conv", 11);
  conv.Attribute("pads", Numbers{kFar, kFar}).Attribute("dilations", Numbers{kFar});
  conv.Input<float>({1, 1, 3}, {1, 2, 3}).Input<float>({1, 1, 3}, {5, 10, 7});
  conv.Run();
  EXPECT_THAT(conv.Output<float>(0), ElementsAre(10, 20, 30));
  OpRunner integer("ConvInteger", 10);
  integer.Attribute("pads", Numbers{kFar, kFar}).Attribute("dilations", Numbers{kFar});
  integer.Input<uint8_t>({1, 1, 3}, {1, 2, 3}).Input<uint8_t>({1, 1, 3}, {5, 10, 7});
  integer.Run();
  EXPECT_THAT(integer.Output<int32_t>(0), ElementsAre(10, 20, 30));
}

TEST(Conv, AHugeWindowBeforeAnActivationGivesTheSameNumbers) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t x = b.Input({1, 1, 4});
    const kit::ir::Attribute pads = {.name = "pads", .type = EP_ATTRIBUTE_INTS, .ints = {kHuge, kHuge}};
    const kit::ir::Attribute strides = {.name = "strides", .type = EP_ATTRIBUTE_INTS, .ints = {kHuge}};
    const int32_t conv = b.Node("Conv", 11, {x, b.Constant({1, 1, 3}, {1, 10, -100})}, {1, 1, 3}, {pads, strides});
    b.Output(b.Node("LeakyRelu", 16, {conv}, {1, 1, 3}));
    return b.Take();
  };
  for (const bool fused : {false, true}) {
    PlanRunner runner(make(), fused);
    const std::vector<float> y = runner.Run({{1, 2, 3, 4}});
    ASSERT_EQ(y.size(), 3u);
    EXPECT_FLOAT_EQ(y[0], 0);
    EXPECT_FLOAT_EQ(y[1], -2.79f);
    EXPECT_FLOAT_EQ(y[2], 0);
  }
}

// A convolution operator and its element type. Make() gives it zeros of the shapes, to check its error messages.
struct ConvCase {
  std::string op_type;
  std::string type;
  OpRunner Make(const Shape& x, const Shape& w) const {
    OpRunner runner(op_type, op_type == "Conv" ? 11 : 10);
    const auto input = [&](const Shape& dims) {
      cpu::Datum datum = MakeDatum(type == "float"    ? EP_TYPE_FLOAT
                                   : type == "double" ? EP_TYPE_DOUBLE
                                                      : EP_TYPE_UINT8,
                                   dims, nullptr);
      if (datum.tensor.Bytes() != 0) std::memset(datum.tensor.data, 0, datum.tensor.Bytes());
      runner.InputDatum(datum);
    };
    input(x);
    input(w);
    return runner;
  }
};
const ConvCase kConvolutions[] = {{"Conv", "float"}, {"Conv", "double"}, {"ConvInteger", "uint8"}};

TEST(Conv, AttributesThatCannotBeComputedWithAreErrors) {
  for (const ConvCase& conv : kConvolutions) {
    const auto failure = [&](const std::string& name, const Numbers& values) {
      OpRunner runner = conv.Make({1, 1, 4}, {1, 1, 3});
      runner.Attribute(name, values);
      return Failure(runner);
    };
    SCOPED_TRACE(conv.op_type + " of " + conv.type);
    EXPECT_THAT(failure("dilations", {INT64_MAX}), HasSubstr("dilations has an entry of 9223372036854775807"));
    EXPECT_THAT(failure("strides", {0}), HasSubstr("strides has an entry of 0"));
    EXPECT_THAT(failure("pads", {INT64_MIN, 0}), HasSubstr("pads has an entry of"));
    EXPECT_THAT(failure("pads", {1}), HasSubstr("pads has 1 entries; 2 expected"));
    EXPECT_THAT(failure("dilations", {2}), HasSubstr("does not fit"));
    EXPECT_THAT(failure("kernel_shape", {2}), HasSubstr("kernel_shape is [2], the weights have [3]"));
    OpRunner same = conv.Make({1, 1, 4}, {1, 1, 3});
    EXPECT_EQ(Failure(same.Attribute("auto_pad", "SAME_MIDDLE")).find("auto_pad is 'SAME_MIDDLE'"), 0u);
  }
}

TEST(Conv, AKernelWithoutElementsIsAnError) {
  for (const ConvCase& conv : kConvolutions) {
    OpRunner runner = conv.Make({1, 1, 4}, {1, 1, 0});
    EXPECT_THAT(Failure(runner), HasSubstr("a kernel of [0]")) << conv.op_type << " of " << conv.type;
  }
}

TEST(Conv, WithoutInputChannelsThereIsNothingToSum) {
  OpRunner single = kConvolutions[0].Make({1, 0, 4}, {2, 0, 3});
  single.Input<float>({2}, {1, 2}).Run();
  EXPECT_THAT(single.Output<float>(0), ElementsAre(1, 1, 2, 2));
  OpRunner twice = kConvolutions[1].Make({1, 0, 4}, {2, 0, 3});
  twice.Input<double>({2}, {1, 2}).Run();
  EXPECT_THAT(twice.Output<double>(0), ElementsAre(1, 1, 2, 2));
  for (const ConvCase& conv : kConvolutions) {
    OpRunner plain = conv.Make({2, 0, 4}, {1, 0, 3});
    plain.Run();
    const cpu::Tensor& y = plain.OutputTensor(0);
    ASSERT_EQ(y.Count(), 4) << conv.type;
    for (uint64_t i = 0; i < y.Bytes(); ++i) EXPECT_EQ(y.as<uint8_t>()[i], 0) << conv.type;
  }
  OpRunner fused("Conv", 1, std::string(kit::fuse::kDomain));
  fused.Attribute("activation", "Relu").Input<float>({1, 0, 4}, {}).Input<float>({2, 0, 3}, {});
  fused.Input<float>({2}, {1, -2}).Input<float>({1, 2, 2}, {3, -4, 5, -6}).Run();
  EXPECT_THAT(fused.Output<float>(0), ElementsAre(4, 0, 3, 0));
}

TEST(Conv, BiasesAreAsManyAsChannels) {
  for (const size_t channels : {size_t{1}, size_t{3}}) {
    OpRunner single = kConvolutions[0].Make({1, 1, 4}, {2, 1, 3});
    single.Input<float>({static_cast<int64_t>(channels)}, std::vector<float>(channels, 1));
    EXPECT_THAT(Failure(single), HasSubstr(fmt::format("{} biases for 2 channels", channels)));
    OpRunner twice = kConvolutions[1].Make({1, 1, 4}, {2, 1, 3});
    twice.Input<double>({static_cast<int64_t>(channels)}, std::vector<double>(channels, 1));
    EXPECT_THAT(Failure(twice), HasSubstr(fmt::format("{} biases for 2 channels", channels)));
  }
}

}  // namespace
}  // namespace epiphyte::test
