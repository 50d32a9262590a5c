// Elementwise functions of several inputs: every kind of broadcasting, in every type.
#include <cmath>
#include <limits>
#include <numeric>

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::string Shape(const std::string& type, const Dims& dims) {
  std::string text = type + "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

class Broadcast : public OpTest {
 protected:
  OpTensor Binary(const std::string& node, const std::string& type, const OpTensor& a, const OpTensor& b,
                  const Dims& out, const std::string& out_type = "") {
    return Run("in a: " + Shape(type, a.dims) + "\nin b: " + Shape(type, b.dims) + "\ny = " + node +
                   "(a, b) : " + Shape(out_type.empty() ? type : out_type, out) + "\nout y\n",
               {a, b})[0];
  }
  // Computes a - b with distinct elements in all places, so that a misplaced element shows in the result.
  void ExpectDifferences(const Dims& a, const Dims& b) {
    const Dims out = kit::BroadcastShape(a, b);
    std::vector<float> x(static_cast<size_t>(a.Count())), y(static_cast<size_t>(b.Count()));
    std::iota(x.begin(), x.end(), 1.0f);
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i) * 1000;
    const std::vector<int64_t> in_a = BroadcastPositions(a, out), in_b = BroadcastPositions(b, out);
    std::vector<float> expected;
    for (size_t i = 0; i < in_a.size(); ++i)
      expected.push_back(x[static_cast<size_t>(in_a[i])] - y[static_cast<size_t>(in_b[i])]);
    const OpTensor result = Binary("Sub@14", "float", Of<float>(a, x), Of<float>(b, y), out);
    EXPECT_EQ(result.dims, out);
    EXPECT_THAT(result.As<float>(), ElementsAreArray(expected)) << Shape("", a) << " - " << Shape("", b);
  }
  uint32_t Width() const { return program().dispatches.at(0).specialization.at(0); }
};

TEST_F(Broadcast, ShapesOfEveryKind) {
  const Dims shapes[][2] = {
      {{4, 8}, {4, 8}},
      {{4, 8}, {}},
      {{}, {4, 8}},
      {{3, 5}, {5}},
      {{3, 5}, {3, 1}},
      {{1}, {7}},
      {{3, 1}, {1, 4}},
      {{2, 8, 4, 4}, {8, 1, 1}},
      {{2, 3, 5, 5}, {3, 1, 1}},
      {{2, 3, 8}, {2, 1, 8}},
      {{2, 1, 4, 1, 3}, {5, 1, 2, 1}},
      {{1, 2, 1, 3, 1, 2, 1, 4}, {2, 1, 3, 1, 2, 1, 3, 1}},
      {{2, 2, 2, 2, 2, 2, 2, 2}, {2, 1, 2, 1, 2, 1, 2, 1}},
      {{1, 1, 1}, {1}},
      {{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 2, 1, 2, 1, 2, 1}},
      {{16, 1}, {1, 16}},
      {{1, 12}, {3, 12}},
  };
  for (const auto& pair : shapes) ExpectDifferences(pair[0], pair[1]);
}

TEST_F(Broadcast, FourElementsAnInvocationWhereTheInnermostRunAllows) {
  ExpectDifferences({4, 8}, {8});
  EXPECT_EQ(Width(), 4u);
  ExpectDifferences({2, 3, 4}, {3, 1});
  EXPECT_EQ(Width(), 4u);
  ExpectDifferences({2, 6}, {6});
  EXPECT_EQ(Width(), 1u);
  // Operands of equal shapes are one run, whatever their dimensions.
  ExpectDifferences({2, 3, 2, 5}, {2, 3, 2, 5});
  EXPECT_EQ(Width(), 4u);
}

TEST_F(Broadcast, ShapesThatDoNotBroadcastAreToldOf) {
  EXPECT_THAT(ReasonOf([&] {
                Run("in a: float[-1]\nin b: float[-1]\ny = Add@14(a, b) : float[-1]\nout y\n",
                    {Of<float>({2}, {1, 2}), Of<float>({3}, {1, 2, 3})});
              }),
              HasSubstr("do not broadcast"));
}

TEST_F(Broadcast, BeforeOpset7AnAttributeSaysWhere) {
  const OpTensor a = Of<float>({2, 3, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), b = Of<float>({3}, {1, 2, 3});
  EXPECT_THAT(Binary("Add@6<broadcast=1,axis=1>", "float", a, b, {2, 3, 2}).As<float>(),
              ElementsAre(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(ReasonOf([&] { Binary("Add@6", "float", a, b, {2, 3, 2}); }), HasSubstr("broadcast is not set"));
}

TEST_F(Broadcast, IntegersWrapAndDivideTowardsZero) {
  const OpTensor a = Of<int32_t>({5}, {7, -7, 2147483647, INT32_MIN, 5}), b = Of<int32_t>({5}, {2, 2, 1, -1, 0});
  EXPECT_THAT(Binary("Add@14", "int32", a, b, {5}).As<int32_t>(), ElementsAre(9, -5, INT32_MIN, INT32_MAX, 5));
  EXPECT_THAT(Binary("Div@14", "int32", a, b, {5}).As<int32_t>(), ElementsAre(3, -3, 2147483647, INT32_MIN, 0));
  EXPECT_THAT(Binary("Mod@13", "int32", a, b, {5}).As<int32_t>(), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(Binary("Mod@13<fmod=1>", "int32", a, b, {5}).As<int32_t>(), ElementsAre(1, -1, 0, 0, 0));
  const OpTensor c = Of<int64_t>({3}, {1ll << 40, -9, 9}), d = Of<int64_t>({3}, {3, 4, -4});
  EXPECT_THAT(Binary("Mul@14", "int64", c, d, {3}).As<int64_t>(), ElementsAre(3ll << 40, -36, -36));
  EXPECT_THAT(Binary("Mod@13", "int64", c, d, {3}).As<int64_t>(), ElementsAre(1, 3, -3));
  EXPECT_THAT(Binary("Max@13", "int64", c, d, {3}).As<int64_t>(), ElementsAre(1ll << 40, 4, 9));
  const OpTensor e = Of<uint8_t>({4}, {250, 1, 128, 3}), f = Of<uint8_t>({4}, {10, 2, 1, 9});
  EXPECT_THAT(Binary("Add@14", "uint8", e, f, {4}).As<uint8_t>(), ElementsAre(4, 3, 129, 12));
  EXPECT_THAT(Binary("Sub@14", "uint8", e, f, {4}).As<uint8_t>(), ElementsAre(240, 255, 127, 250));
  EXPECT_THAT(Binary("BitShift@11<direction=\"LEFT\">", "uint8", e, f, {4}).As<uint8_t>(), ElementsAre(0, 4, 0, 0));
  EXPECT_THAT(Binary("BitShift@11<direction=\"RIGHT\">", "uint8", e, f, {4}).As<uint8_t>(), ElementsAre(0, 0, 64, 0));
  EXPECT_THAT(Binary("BitwiseXor@18", "uint8", e, f, {4}).As<uint8_t>(), ElementsAre(240, 3, 129, 10));
  const OpTensor g = Of<int8_t>({3}, {-128, 100, -7}), h = Of<int8_t>({3}, {-1, 100, 2});
  EXPECT_THAT(Binary("Div@14", "int8", g, h, {3}).As<int8_t>(), ElementsAre(-128, 1, -3));
  EXPECT_THAT(Binary("Mul@14", "int8", g, h, {3}).As<int8_t>(), ElementsAre(-128, 16, -14));
}

TEST_F(Broadcast, ComparisonsAndLogicGiveBools) {
  const OpTensor a = Of<float>({4}, {1, 2, kNaN, 3}), b = Of<float>({4}, {1, 3, 1, 2});
  EXPECT_THAT(Binary("Equal@19", "float", a, b, {4}, "bool").As<uint8_t>(), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(Binary("Less@13", "float", a, b, {4}, "bool").As<uint8_t>(), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Binary("LessOrEqual@16", "float", a, b, {4}, "bool").As<uint8_t>(), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(Binary("Greater@13", "float", a, b, {4}, "bool").As<uint8_t>(), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Binary("GreaterOrEqual@16", "float", a, b, {4}, "bool").As<uint8_t>(), ElementsAre(1, 0, 0, 1));
  const OpTensor c = Of<int64_t>({2}, {1ll << 40, 5}), d = Of<int64_t>({2}, {1ll << 41, 5});
  EXPECT_THAT(Binary("Equal@19", "int64", c, d, {2}, "bool").As<uint8_t>(), ElementsAre(0, 1));
  const OpTensor e = Bools({4}, {0, 2, 0, 1}), f = Bools({4}, {0, 0, 1, 4});
  EXPECT_THAT(Binary("And@7", "bool", e, f, {4}).As<uint8_t>(), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Binary("Or@7", "bool", e, f, {4}).As<uint8_t>(), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Binary("Xor@7", "bool", e, f, {4}).As<uint8_t>(), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(Binary("Equal@19", "bool", e, f, {4}).As<uint8_t>(), ElementsAre(1, 0, 0, 1));
}

TEST_F(Broadcast, MaximaKeepNaN) {
  const OpTensor a = Of<float>({4}, {1, kNaN, 3, -1}), b = Of<float>({4}, {2, 1, kNaN, -2});
  for (const char* node : {"Max@13", "Min@13"}) {
    const std::vector<float> y = Binary(node, "float", a, b, {4}).As<float>();
    EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[2])) << node;
    EXPECT_FALSE(std::isnan(y[0]) || std::isnan(y[3])) << node;
  }
}

TEST_F(Broadcast, AnyNumberOfOperands) {
  std::string head, list;
  Tensors inputs;
  for (int i = 0; i < 11; ++i) {
    head += "in x" + std::to_string(i) + (i % 2 == 0 ? ": float[2,4]\n" : ": float[4]\n");
    list += (i == 0 ? "x" : ", x") + std::to_string(i);
    const auto value = static_cast<float>(i);
    if (i % 2 == 0) {
      inputs.push_back(Of<float>({2, 4}, {value, 1, 2, 3, value, 5, 6, 7}));
    } else {
      inputs.push_back(Of<float>({4}, {1, value, 1, 1}));
    }
  }
  const auto run = [&](const std::string& node) {
    return Run(head + "y = " + node + "(" + list + ") : float[2,4]\nout y\n", inputs)[0].As<float>();
  };
  EXPECT_THAT(run("Sum@13"), ElementsAre(35, 31, 17, 23, 35, 55, 41, 47));
  EXPECT_FLOAT_EQ(run("Mean@13")[0], 35.0f / 11);
  EXPECT_THAT(run("Max@13"), ElementsAre(10, 9, 2, 3, 10, 9, 6, 7));
  const Tensors longs = {Of<int64_t>({2}, {1, 5}), Of<int64_t>({2}, {3, 3}), Of<int64_t>({1}, {4})};
  EXPECT_THAT(Run("in a: int64[2]\nin b: int64[2]\nin c: int64[1]\ny = Max@13(a, b, c) : int64[2]\nout y\n", longs)[0]
                  .As<int64_t>(),
              ElementsAre(4, 5));
  EXPECT_THAT(Run("in a: float[2]\ny = Mean@13(a) : float[2]\nout y\n", {Of<float>({2}, {1, 5})})[0].As<float>(),
              ElementsAre(1, 5));
}

TEST_F(Broadcast, PowersOfMixedTypes) {
  const auto run = [&](const std::string& x_type, const OpTensor& x, const std::string& y_type, const OpTensor& y) {
    return Run("in x: " + Shape(x_type, x.dims) + "\nin y: " + Shape(y_type, y.dims) +
                   "\nz = Pow@15(x, y) : " + Shape(x_type, kit::BroadcastShape(x.dims, y.dims)) + "\nout z\n",
               {x, y})[0];
  };
  const OpTensor bases = Of<float>({6}, {2, -2, 0, 2.5f, -8, 9});
  const std::vector<float> z =
      run("float", bases, "float", Of<float>({6}, {10, 3, 0, 1.5f, 1.0f / 3, 0.5f})).As<float>();
  EXPECT_FLOAT_EQ(z[0], 1024);
  EXPECT_FLOAT_EQ(z[1], -8);
  EXPECT_FLOAT_EQ(z[2], 1);
  EXPECT_NEAR(z[3], std::pow(2.5f, 1.5f), 2e-6f);
  EXPECT_TRUE(std::isnan(z[4]));
  EXPECT_FLOAT_EQ(z[5], 3);
  EXPECT_THAT(run("float", bases, "int64", Of<int64_t>({}, {2})).As<float>(), ElementsAre(4, 4, 0, 6.25f, 64, 81));
  EXPECT_THAT(run("float", bases, "int64", OnHost(Of<int64_t>({}, {3}))).As<float>(),
              ElementsAre(8, -8, 0, 15.625f, -512, 729));
  const OpTensor ints = Of<int32_t>({4}, {1, 2, 3, -3});
  EXPECT_THAT(run("int32", ints, "float", Of<float>({4}, {4, 5, 6, 3})).As<int32_t>(), ElementsAre(1, 32, 729, -27));
  EXPECT_THAT(run("int32", ints, "int32", Of<int32_t>({4}, {-1, -1, 0, 19})).As<int32_t>(),
              ElementsAre(1, 0, 1, -1162261467));
  EXPECT_THAT(run("int64", Of<int64_t>({2}, {10, 4}), "float", Of<float>({2}, {18, 0.5f})).As<int64_t>(),
              ElementsAre(1000000000000000000, 2));
}

TEST_F(Broadcast, RemaindersOfFloatsAreExact) {
  const std::vector<float> a = {5.5f, -5.5f, 1e6f, 4, 3e38f, 1e30f, 7, kNaN, 1e-3f, 7, 1e9f, -1e20f};
  const std::vector<float> b = {2, 2, 0.1f, -3, 0.7f, 1e-20f, kInfinity, 1, 5, 0, 3, 7};
  const auto n = static_cast<int64_t>(a.size());
  std::vector<float> y = Binary("Mod@13<fmod=1>", "float", Of<float>({n}, a), Of<float>({n}, b), {n}).As<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const float exact = std::fmod(a[i], b[i]);
    EXPECT_TRUE(y[i] == exact || (std::isnan(y[i]) && std::isnan(exact))) << a[i] << " mod " << b[i] << ": " << y[i];
  }
  // Without fmod, the remainder has the divisor's sign.
  y = Binary("Mod@13", "float", Of<float>({3}, {5.5f, -5.5f, 4}), Of<float>({3}, {2, 2, -3}), {3}).As<float>();
  EXPECT_THAT(y, ElementsAre(1.5f, 0.5f, -2));
}

TEST_F(Broadcast, SlopesOfPRelu) {
  const OpTensor x = Of<float>({1, 2, 2}, {-1, 1, -2, 2});
  EXPECT_THAT(Binary("PRelu@16", "float", x, Of<float>({2, 1}, {0.5f, 0.25f}), {1, 2, 2}).As<float>(),
              ElementsAre(-0.5f, 1, -0.5f, 2));
  // Before opset 7, PRelu has one slope for each channel.
  EXPECT_THAT(Binary("PRelu@6", "float", x, Of<float>({2}, {0.5f, 0.25f}), {1, 2, 2}).As<float>(),
              ElementsAre(-0.5f, 1, -0.5f, 2));
}

TEST_F(Broadcast, WhereChoosesOfAnyType) {
  const OpTensor c = Bools({2, 1}, {7, 0});
  const auto run = [&](const std::string& type, const OpTensor& x, const OpTensor& y) {
    return Run("in c: bool[2,1]\nin x: " + Shape(type, x.dims) + "\nin y: " + Shape(type, y.dims) +
                   "\nz = Where@16(c, x, y) : " + Shape(type, {2, 4}) + "\nout z\n",
               {c, x, y})[0];
  };
  EXPECT_THAT(run("float", Of<float>({4}, {1, 2, 3, kNaN}), Of<float>({}, {9})).As<float>(),
              ElementsAre(1, 2, 3, testing::IsNan(), 9, 9, 9, 9));
  EXPECT_THAT(run("int64", Of<int64_t>({4}, {1, 1ll << 40, 3, 4}), Of<int64_t>({1}, {-9})).As<int64_t>(),
              ElementsAre(1, 1ll << 40, 3, 4, -9, -9, -9, -9));
  EXPECT_THAT(
      run("uint8", Of<uint8_t>({4}, {1, 2, 3, 4}), Of<uint8_t>({2, 4}, {0, 0, 0, 0, 5, 6, 7, 255})).As<uint8_t>(),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 255));
  EXPECT_THAT(FromHalves(run("float16", Halves({4}, {1, 2, 3, 4}), Halves({1}, {9}))),
              ElementsAre(1, 2, 3, 4, 9, 9, 9, 9));
}

TEST_F(Broadcast, BoundsOfClipOnTheHostAndOnTheDevice) {
  const auto run = [&](const std::string& type, const OpTensor& x, const OpTensor& low, const OpTensor& high) {
    return Run("in x: " + type + "[4]\nin l: " + type + "[]\nin h: " + type + "[]\ny = Clip@13(x, l, h) : " + type +
                   "[4]\nout y\n",
               {x, low, high})[0];
  };
  const OpTensor x = Of<float>({4}, {-5, 0.5f, kNaN, 7}), low = Of<float>({}, {-1}), high = Of<float>({}, {2});
  for (const bool first : {false, true})
    for (const bool second : {false, true})
      EXPECT_THAT(run("float", x, first ? OnHost(low) : low, second ? OnHost(high) : high).As<float>(),
                  ElementsAre(-1, 0.5f, testing::IsNan(), 2));
  const OpTensor nan = Of<float>({}, {kNaN});
  for (const OpTensor& bound : {nan, OnHost(nan)}) {
    EXPECT_THAT(run("float", x, bound, high).As<float>(), testing::Each(testing::IsNan()));
    EXPECT_THAT(run("float", x, OnHost(low), bound).As<float>(), testing::Each(testing::IsNan()));
    EXPECT_THAT(run("float", OnHost(x), OnHost(low), bound).As<float>(), testing::Each(testing::IsNan()));
  }
  // If Clip's bounds cross, the upper one wins.
  EXPECT_THAT(run("float", Of<float>({4}, {0, 1, 2, 3}), high, low).As<float>(), ElementsAre(-1, -1, -1, -1));
  const OpTensor longs = Of<int64_t>({4}, {-(1ll << 40), 5, 6, 1ll << 40});
  const OpTensor least = Of<int64_t>({}, {-(1ll << 35)}), most = Of<int64_t>({}, {1ll << 35});
  EXPECT_THAT(run("int64", longs, least, most).As<int64_t>(), ElementsAre(-(1ll << 35), 5, 6, 1ll << 35));
  EXPECT_THAT(run("int64", longs, OnHost(least), OnHost(most)).As<int64_t>(),
              ElementsAre(-(1ll << 35), 5, 6, 1ll << 35));
  EXPECT_THAT(Run("in x: int8[4]\nin h: int8[]\ny = Clip@13(x, _, h) : int8[4]\nout y\n",
                  {Of<int8_t>({4}, {-128, 0, 5, 127}), Of<int8_t>({}, {3})})[0]
                  .As<int8_t>(),
              ElementsAre(-128, 0, 3, 3));
}

}  // namespace
}  // namespace epiphyte::vulkan
