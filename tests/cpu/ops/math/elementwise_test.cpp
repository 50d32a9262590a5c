// Functions of single elements and of pairs: values, types, broadcasting, in-place results, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Unary(const std::string& op, int64_t version, const std::vector<float>& x) {
  OpRunner runner(op, version);
  runner.Input<float>({static_cast<int64_t>(x.size())}, x);
  runner.Run();
  return runner.Output<float>(0);
}

TEST(UnaryMath, AgreesWithTheStandardLibrary) {
  struct Case {
    const char* op;
    double (*function)(double);
    float low, high;
  };
  const Case cases[] = {
      {"Exp", std::exp, -80, 80},   {"Log", std::log, 1e-6f, 1e6f},   {"Tanh", std::tanh, -12, 12},
      {"Erf", std::erf, -5, 5},     {"Sin", std::sin, -20, 20},       {"Cos", std::cos, -20, 20},
      {"Tan", std::tan, -1, 1},     {"Asin", std::asin, -1, 1},       {"Acos", std::acos, -1, 1},
      {"Atan", std::atan, -30, 30}, {"Sinh", std::sinh, -9, 9},       {"Cosh", std::cosh, -9, 9},
      {"Asinh", std::asinh, -9, 9}, {"Acosh", std::acosh, 1, 90},     {"Atanh", std::atanh, -0.99f, 0.99f},
      {"Sqrt", std::sqrt, 0, 1e6f}, {"Ceil", std::ceil, -9, 9},       {"Floor", std::floor, -9, 9},
      {"Abs", std::fabs, -9, 9},    {"Round", std::nearbyint, -9, 9},
  };
  for (const Case& test : cases) {
    std::vector<float> x;
    for (int i = 0; i <= 1000; ++i) x.push_back(test.low + (test.high - test.low) * static_cast<float>(i) / 1000);
    const std::vector<float> y = Unary(test.op, 13, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = test.function(static_cast<double>(x[i]));
      EXPECT_NEAR(y[i], expected, 3e-7 * std::fabs(expected) + 1e-12) << test.op << '(' << x[i] << ')';
    }
  }
}

TEST(UnaryMath, TreatsSpecialValuesAsTheStandardLibraryDoes) {
  const std::vector<float> x = {kInfinity, -kInfinity, kNaN, 0.0f, -0.0f};
  struct Case {
    const char* op;
    float (*function)(float);
  };
  for (const Case& test : {Case{"Exp", std::exp}, Case{"Log", std::log}, Case{"Tanh", std::tanh}, Case{"Erf", std::erf},
                           Case{"Sqrt", std::sqrt}}) {
    const std::vector<float> y = Unary(test.op, 13, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = test.function(x[i]);
      EXPECT_TRUE(y[i] == expected || (std::isnan(y[i]) && std::isnan(expected)))
          << test.op << '(' << x[i] << ") = " << y[i];
      EXPECT_EQ(std::signbit(y[i]) && !std::isnan(y[i]), std::signbit(expected) && !std::isnan(expected))
          << test.op << '(' << x[i] << ')';
    }
  }
}

TEST(UnaryMath, RoundGoesToEven) {
  EXPECT_THAT(Unary("Round", 22, {0.5f, 1.5f, 2.5f, -0.5f}), ElementsAre(0, 2, 2, 0));
}

TEST(UnaryMath, NegativeOfTheSmallestIntegerIsItself) {
  OpRunner neg("Neg", 13);
  neg.Input<int8_t>({2}, {-128, 5});
  neg.Run();
  EXPECT_THAT(neg.Output<int8_t>(0), ElementsAre(-128, -5));
}

TEST(UnaryMath, SixteenBitFloatsAreComputedInFloat) {
  OpRunner sqrt("Sqrt", 13);
  sqrt.Input<cpu::BFloat16>({1}, {cpu::BFloat16(9.0f)});
  sqrt.Run();
  EXPECT_EQ(static_cast<float>(sqrt.Output<cpu::BFloat16>(0)[0]), 3.0f);
}

TEST(UnaryMath, LargeTensorsAreCutIntoShares) {
  std::vector<float> x(100001);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (bool in_place : {false, true}) {
    OpRunner neg("Neg", 13);
    neg.Input<float>({100001}, x).InPlace(in_place);
    neg.Run();
    const std::vector<float> y = neg.Output<float>(0);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], -x[i]);
  }
}

TEST(UnaryMath, EmptyTensorsStayEmpty) {
  OpRunner exp("Exp", 13);
  exp.Input<float>({3, 0, 2}, {});
  exp.Run();
  EXPECT_EQ(exp.Dims(0), (Shape{3, 0, 2}));
}

TEST(UnaryMath, TypesThatAreNotInTheSchemaAreRefused) {
  OpRunner exp("Exp", 13);
  exp.Input<int32_t>({1}, {1});
  EXPECT_THAT([&] { exp.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("int32")));
}

TEST(IsInf, LooksForTheSignsThatAreAsked) {
  OpRunner isinf("IsInf", 20);
  isinf.Attribute("detect_negative", 0).Input<float>({4}, {kInfinity, -kInfinity, kNaN, 1.0f});
  isinf.Run();
  EXPECT_THAT(isinf.Output<bool>(0), ElementsAre(true, false, false, false));
}

TEST(IsNaN, KnowsEightBitFloats) {
  OpRunner isnan("IsNaN", 20);
  isnan.Input<cpu::Float8E4M3FNUZ>({2}, {cpu::Float8E4M3FNUZ(1.0f), cpu::Float8E4M3FNUZ(kNaN)});
  isnan.Run();
  EXPECT_THAT(isnan.Output<bool>(0), ElementsAre(false, true));
}

template <typename T>
void ExpectSpecialNumbersOf16Bits() {
  std::vector<T> x;
  for (float value : {kNaN, kInfinity, -kInfinity, 0.0f, -0.0f, 1.0f, -65504.0f}) x.push_back(T(value));
  T quiet = x[0];
  auto bits = std::bit_cast<uint16_t>(quiet);
  x.push_back(std::bit_cast<T>(static_cast<uint16_t>(bits | 0x8000)));
  while (x.size() < 40) x.push_back(x[x.size() - 8]);
  OpRunner nan("IsNaN", 20), infinity("IsInf", 20), negative("IsInf", 20);
  negative.Attribute("detect_positive", 0);
  for (OpRunner* runner : {&nan, &infinity, &negative}) runner->Input<T>({40}, x).Run();
  for (size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<float>(x[i]);
    EXPECT_EQ(nan.OutputTensor(0).as<bool>()[i], std::isnan(value)) << value;
    EXPECT_EQ(infinity.OutputTensor(0).as<bool>()[i], std::isinf(value)) << value;
    EXPECT_EQ(negative.OutputTensor(0).as<bool>()[i], value == -kInfinity) << value;
  }
}
TEST(IsInf, LongRowsOfDoublesHaveTheSignsThatAreAsked) {
  std::vector<double> x(1100);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 5 == 0 ? INFINITY : i % 7 == 0 ? -INFINITY : i % 11 == 0 ? NAN : static_cast<double>(i) * 1e305;
  for (bool positive : {false, true}) {
    for (bool negative : {false, true}) {
      OpRunner runner("IsInf", 20);
      runner.Attribute("detect_positive", positive ? 1 : 0).Attribute("detect_negative", negative ? 1 : 0);
      runner.Input<double>({1100}, x).Run();
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(runner.OutputTensor(0).as<bool>()[i], std::isinf(x[i]) && (x[i] > 0 ? positive : negative)) << x[i];
    }
  }
}

TEST(IsNaNAndIsInf, KnowThe16BitFloats) {
  ExpectSpecialNumbersOf16Bits<kit::Float16>();
  ExpectSpecialNumbersOf16Bits<kit::BFloat16>();
}

TEST(Activations, AgreeWithTheirDefinitions) {
  const std::vector<float> x = {-100.0f, -3.0f, -0.5f, 0.0f, 0.5f, 3.0f, 100.0f};
  const auto check = [&](OpRunner& runner, auto definition) {
    runner.Input<float>({7}, x);
    runner.Run();
    std::vector<float> expected;
    for (float value : x) expected.push_back(static_cast<float>(definition(static_cast<double>(value))));
    EXPECT_THAT(runner.Output<float>(0), Pointwise(FloatNear(2e-6f), expected));
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  OpRunner gelu("Gelu", 20), gelu_tanh("Gelu", 20), mish("Mish", 22), swish("Swish", 24), celu("Celu", 12);
  check(gelu, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  gelu_tanh.Attribute("approximate", "tanh");
  check(gelu_tanh, [](double v) { return 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v))); });
  check(mish, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); });
  swish.Attribute("alpha", 1.5f);
  check(swish, [&](double v) { return v * sigmoid(1.5 * v); });
  celu.Attribute("alpha", 2.0f);
  check(celu, [](double v) { return std::max(0.0, v) + std::min(0.0, 2 * std::expm1(v / 2)); });
}

TEST(Activations, ReluKeepsNaN) {
  const std::vector<float> y = Unary("Relu", 14, {kNaN, -1.0f});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0.0f);
}

TEST(Gelu, AnUnknownApproximationIsAnError) {
  OpRunner gelu("Gelu", 20);
  gelu.Attribute("approximate", "fast").Input<float>({1}, {0.0f});
  EXPECT_THAT([&] { gelu.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("fast")));
}

TEST(Clip, HasBoundsInAttributesBeforeOpset11) {
  OpRunner clip("Clip", 6);
  clip.Attribute("max", 1.0f).Input<float>({3}, {-5.0f, 0.5f, 5.0f});
  clip.Run();
  EXPECT_THAT(clip.Output<float>(0), ElementsAre(-5.0f, 0.5f, 1.0f));
}

TEST(Clip, BoundsMustBeScalarsOfTheSameType) {
  OpRunner clip("Clip", 13);
  clip.Input<float>({1}, {0.0f}).Input<float>({2}, {0.0f, 1.0f});
  EXPECT_THAT([&] { clip.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("min")));
  OpRunner typed("Clip", 13);
  typed.Input<float>({1}, {0.0f}).Input<int32_t>({}, {0});
  EXPECT_THAT([&] { typed.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("int32")));
}

template <typename T>
OpRunner Binary(const std::string& op, int64_t version, const Shape& a_shape, const std::vector<T>& a,
                const Shape& b_shape, const std::vector<T>& b, bool in_place = false) {
  OpRunner runner(op, version);
  runner.InputDatum(MakeDatum<T>(a_shape, a)).InputDatum(MakeDatum<T>(b_shape, b)).InPlace(in_place);
  runner.Run();
  return runner;
}

TEST(Clip, LongRowsOfEveryTypeKeepNaNAndTakeTheUpperOfCrossedBounds) {
  std::vector<double> x(3000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 100) - 50;
  x[7] = x[2001] = static_cast<double>(kNaN);
  for (bool in_place : {false, true}) {
    OpRunner clip("Clip", 13), crossed("Clip", 13), bytes("Clip", 13);
    clip.Input<double>({3000}, x).Input<double>({}, {-7}).Input<double>({}, {9.5}).InPlace(in_place);
    crossed.Input<double>({3000}, x).Input<double>({}, {5}).Input<double>({}, {-5}).InPlace(in_place);
    bytes.Input<int8_t>({100}, std::vector<int8_t>(x.begin() + 100, x.begin() + 200)).NoInput().Input<int8_t>({}, {3});
    for (OpRunner* runner : {&clip, &crossed, &bytes}) runner->Run();
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(clip.Output<double>(0)[i]) && std::isnan(crossed.Output<double>(0)[i]));
        continue;
      }
      ASSERT_EQ(clip.OutputTensor(0).as<double>()[i], std::min(std::max(x[i], -7.0), 9.5));
      ASSERT_EQ(crossed.OutputTensor(0).as<double>()[i], -5);
    }
    for (size_t i = 0; i < 100; ++i) EXPECT_EQ(bytes.Output<int8_t>(0)[i], std::min(static_cast<int>(i) - 50, 3));
  }
}

template <typename T>
void ExpectThatABoundOfNaNMakesNaN(T nan) {
  for (const bool upper : {false, true}) {
    OpRunner clip("Clip", 13);
    clip.Input<T>({70}, std::vector<T>(70, T(1.0f)));
    if (upper) clip.NoInput();
    clip.Input<T>({}, {nan});
    clip.Run();
    for (const T y : clip.Output<T>(0)) EXPECT_NE(static_cast<float>(y), static_cast<float>(y));
  }
}
TEST(Clip, ABoundOfNaNMakesNaN) {
  ExpectThatABoundOfNaNMakesNaN<float>(kNaN);
  ExpectThatABoundOfNaNMakesNaN<double>(static_cast<double>(kNaN));
  ExpectThatABoundOfNaNMakesNaN<kit::Float16>(kit::Float16(kNaN));
}

TEST(Broadcasting, FollowsNumpy) {
  for (bool in_place : {false, true}) {
    const OpRunner add = Binary<float>("Add", 14, {2, 1, 3}, {0, 1, 2, 3, 4, 5}, {4, 1}, {0, 10, 20, 30}, in_place);
    EXPECT_EQ(add.Dims(0), (Shape{2, 4, 3}));
    EXPECT_THAT(add.Output<float>(0), ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32,  //
                                                  3, 4, 5, 13, 14, 15, 23, 24, 25, 33, 34, 35));
  }
}

TEST(Broadcasting, EitherSideMayBeTheScalar) {
  EXPECT_THAT(Binary<float>("Sub", 14, {}, {10}, {3}, {1, 2, 3}, true).Output<float>(0), ElementsAre(9, 8, 7));
  EXPECT_THAT(Binary<float>("Sub", 14, {3}, {1, 2, 3}, {1, 1}, {10}, true).Output<float>(0), ElementsAre(-9, -8, -7));
}

TEST(Broadcasting, AnEmptyDimensionWinsOverOne) {
  const OpRunner add = Binary<float>("Add", 14, {0, 2}, {}, {1, 2}, {1, 2});
  EXPECT_EQ(add.Dims(0), (Shape{0, 2}));
}

TEST(Broadcasting, ShapesThatDoNotFitAreAnError) {
  EXPECT_THAT(([] {
                Binary<float>("Add", 14, {2, 3}, {0, 0, 0, 0, 0, 0}, {2}, {0, 0});
              }),
              ThrowsMessage<kit::Error>(HasSubstr("[2,3] and [2]")));
}

TEST(Broadcasting, LargeTensorsAreCutAnywhere) {
  const int64_t rows = 300, columns = 257;
  std::vector<float> a(static_cast<size_t>(rows * columns)), b(static_cast<size_t>(rows));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i) * 1e5f;
  const std::vector<float> y = Binary<float>("Add", 14, {rows, columns}, a, {rows, 1}, b).Output<float>(0);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], a[i] + b[i / static_cast<size_t>(columns)]) << i;
}

TEST(LegacyBroadcasting, PlacesTheSecondShapeAtTheAxis) {
  OpRunner add("Add", 6);
  add.Attribute("broadcast", 1).Attribute("axis", 1);
  add.Input<float>({1, 2, 2}, {0, 1, 2, 3}).Input<float>({2}, {10, 20});
  add.Run();
  EXPECT_THAT(add.Output<float>(0), ElementsAre(10, 11, 22, 23));
}

TEST(LegacyBroadcasting, WithoutTheAttributeShapesMustBeEqual) {
  OpRunner add("Add", 6);
  add.Input<float>({2, 2}, {0, 1, 2, 3}).Input<float>({2}, {10, 20});
  EXPECT_THAT([&] { add.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("broadcast is not set")));
}

TEST(Arithmetic, IntegersWrapAndDivisionByZeroIsZero) {
  EXPECT_THAT(Binary<int32_t>("Add", 14, {1}, {INT32_MAX}, {1}, {1}).Output<int32_t>(0), ElementsAre(INT32_MIN));
  EXPECT_THAT(Binary<int32_t>("Div", 14, {4}, {7, -7, 1, INT32_MIN}, {4}, {2, 2, 0, -1}).Output<int32_t>(0),
              ElementsAre(3, -3, 0, INT32_MIN));
  EXPECT_THAT(Binary<uint8_t>("Mul", 14, {1}, {16}, {1}, {17}).Output<uint8_t>(0), ElementsAre(16));
}

// Rows are long enough for vectors. One operand may be a single row or one number for each row.
template <typename T>
void ExpectIntegersLikeDoubles() {
  using Function = double (*)(double, double);
  const std::pair<const char*, Function> functions[] = {
      {"Sub", [](double a, double b) { return a - b; }},
      {"Div", [](double a, double b) { return std::trunc(a / b); }},
      {"Less", [](double a, double b) { return a < b ? 1.0 : 0; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0; }}};
  for (const auto& [op, function] : functions) {
    for (const auto& [a_rows, b_rows] : {std::pair{3, 3}, std::pair{3, 1}, std::pair{1, 3}}) {
      for (int64_t b_columns : {50, 1}) {
        std::vector<T> a(static_cast<size_t>(a_rows * 50)), b(static_cast<size_t>(b_rows * b_columns));
        for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i * 7 % 100);
        for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i * 5 % 17 + 1);
        OpRunner runner(op, 14);
        runner.Input<T>({a_rows, 50}, a).template Input<T>({b_rows, b_columns}, b);
        runner.Run();
        const bool compares = runner.OutputTensor(0).type == EP_TYPE_BOOL;
        for (int64_t i = 0; i < 150; ++i) {
          const auto left = a[static_cast<size_t>(a_rows == 1 ? i % 50 : i)];
          const auto right =
              b[static_cast<size_t>((b_rows == 1 ? 0 : i / 50 * b_columns) + (b_columns == 1 ? 0 : i % 50))];
          const auto expected =
              static_cast<T>(static_cast<int64_t>(function(static_cast<double>(left), static_cast<double>(right))));
          const T found = compares ? static_cast<T>(runner.OutputTensor(0).template as<bool>()[i])
                                   : runner.OutputTensor(0).template as<T>()[i];
          ASSERT_EQ(found, expected) << op << ' ' << +left << ' ' << +right;
        }
      }
    }
  }
}
TEST(Arithmetic, IntegersOfEveryWidthBroadcastByRowsAndNumbers) {
  ExpectIntegersLikeDoubles<int8_t>();
  ExpectIntegersLikeDoubles<uint8_t>();
  ExpectIntegersLikeDoubles<int16_t>();
  ExpectIntegersLikeDoubles<int32_t>();
  ExpectIntegersLikeDoubles<int64_t>();
}

TEST(Logic, RowsOfBooleansGiveWhatEachPairDoes) {
  const std::pair<const char*, bool (*)(bool, bool)> functions[] = {{"And", [](bool a, bool b) { return a && b; }},
                                                                    {"Or", [](bool a, bool b) { return a || b; }},
                                                                    {"Xor", [](bool a, bool b) { return a != b; }},
                                                                    {"Equal", [](bool a, bool b) { return a == b; }}};
  std::vector<bool> a(3 * 70), b(70);
  for (size_t i = 0; i < a.size(); ++i) a[i] = i % 3 == 0;
  for (size_t i = 0; i < b.size(); ++i) b[i] = i % 2 == 0;
  for (const auto& [op, function] : functions) {
    OpRunner runner(op, 7);
    runner.Input<bool>({3, 70}, a).Input<bool>({70}, b).InPlace(true);
    runner.Run();
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(runner.OutputTensor(0).as<bool>()[i], function(a[i], b[i % 70])) << op << ' ' << i;
  }
}

TEST(Not, TurnsEveryBoolean) {
  std::vector<bool> x(100);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0;
  for (bool in_place : {false, true}) {
    OpRunner runner("Not", 1);
    runner.Input<bool>({100}, x).InPlace(in_place);
    runner.Run();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(runner.OutputTensor(0).as<bool>()[i], !x[i]) << i;
  }
}

TEST(Arithmetic, InputsOfDifferentTypesAreAnError) {
  OpRunner add("Add", 14);
  add.Input<float>({1}, {0}).Input<double>({1}, {0});
  EXPECT_THAT([&] { add.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("float and double")));
}

TEST(Mod, HasTheSignOfTheDivisorOrWithFmodOfTheDividend) {
  EXPECT_THAT(Binary<int64_t>("Mod", 13, {4}, {-7, 7, -7, 5}, {4}, {3, -3, -3, 0}).Output<int64_t>(0),
              ElementsAre(2, -2, -1, 0));
  OpRunner fmod("Mod", 13);
  fmod.Attribute("fmod", 1).Input<float>({2}, {-7.5f, 7.5f}).Input<float>({2}, {2.0f, -2.0f});
  fmod.Run();
  EXPECT_THAT(fmod.Output<float>(0), ElementsAre(-1.5f, 1.5f));
}

TEST(Pow, TheBaseDecidesTheType) {
  OpRunner mixed("Pow", 15);
  mixed.Input<int32_t>({4}, {2, -3, 5, 0}).Input<float>({4}, {3.0f, 2.0f, 0.5f, 0.0f});
  mixed.Run();
  EXPECT_THAT(mixed.Output<int32_t>(0), ElementsAre(8, 9, 2, 1));
  EXPECT_THAT(Binary<int64_t>("Pow", 15, {4}, {3, 2, -1, 2}, {4}, {39, 64, -3, -1}).Output<int64_t>(0),
              ElementsAre(4052555153018976267, 0, -1, 0));
}

// Constant exponents 2 and 3 have loops of their own, whatever the type of the exponent.
TEST(Pow, SquaresAndCubesAreThoseOfEveryType) {
  std::vector<double> x(50);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i) - 20.25;
  for (double power : {2.0, 3.0}) {
    OpRunner doubles("Pow", 15), integers("Pow", 15), halves("Pow", 15);
    doubles.Input<double>({50}, x).Input<float>({}, {static_cast<float>(power)});
    integers.Input<int32_t>({50}, std::vector<int32_t>(x.begin(), x.end())).Input<double>({1}, {power});
    std::vector<kit::Float16> small;
    for (double value : x) small.push_back(kit::Float16(static_cast<float>(value)));
    halves.Input<kit::Float16>({50}, small).Input<int64_t>({}, {static_cast<int64_t>(power)});
    for (OpRunner* runner : {&doubles, &integers, &halves}) runner->Run();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_DOUBLE_EQ(doubles.Output<double>(0)[i], std::pow(x[i], power));
      EXPECT_EQ(integers.Output<int32_t>(0)[i], static_cast<int32_t>(std::pow(static_cast<int32_t>(x[i]), power)));
      EXPECT_NEAR(static_cast<float>(halves.Output<kit::Float16>(0)[i]), std::pow(x[i], power),
                  std::fabs(std::pow(x[i], power)) * 0x1p-11);
    }
  }
  OpRunner overflow("Pow", 15);
  overflow.Input<int64_t>({2}, {int64_t{1} << 32, -3}).Input<int64_t>({}, {2});
  overflow.Run();
  EXPECT_THAT(overflow.Output<int64_t>(0), ElementsAre(0, 9));
}

TEST(Pow, SquaresInPlace) {
  OpRunner square("Pow", 15);
  square.Input<float>({3}, {-2, 3, 0.5f}).Input<float>({}, {2}).InPlace(true);
  square.Run();
  EXPECT_THAT(square.Output<float>(0), ElementsAre(4, 9, 0.25f));
}

TEST(BitShift, ShiftsByTheWholeWidthGiveZero) {
  OpRunner shift("BitShift", 11);
  shift.Attribute("direction", "LEFT").Input<uint8_t>({3}, {1, 255, 1}).Input<uint8_t>({3}, {7, 1, 8});
  shift.Run();
  EXPECT_THAT(shift.Output<uint8_t>(0), ElementsAre(128, 254, 0));
}

template <typename T>
void ExpectShiftedRows() {
  std::vector<T> x(100), by(100);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(~T(0) - T(i)), by[i] = static_cast<T>(i % (8 * sizeof(T) + 3));
  for (bool left : {false, true}) {
    OpRunner shift("BitShift", 11);
    shift.Attribute("direction", left ? "LEFT" : "RIGHT").Input<T>({100}, x).template Input<T>({100}, by);
    shift.Run();
    for (size_t i = 0; i < x.size(); ++i) {
      const bool gone = by[i] >= 8 * sizeof(T);
      const auto value = uint64_t{x[i]};
      const auto expected = static_cast<T>(gone ? 0 : left ? value << by[i] : value >> by[i]);
      ASSERT_EQ(shift.Output<T>(0)[i], expected) << +x[i] << " by " << +by[i];
    }
  }
}
TEST(BitShift, RowsOfEveryWidthShiftElementByElement) {
  ExpectShiftedRows<uint8_t>();
  ExpectShiftedRows<uint16_t>();
  ExpectShiftedRows<uint32_t>();
  ExpectShiftedRows<uint64_t>();
}

TEST(BitShift, NeedsADirection) {
  OpRunner shift("BitShift", 11);
  shift.Input<uint8_t>({1}, {1}).Input<uint8_t>({1}, {1});
  EXPECT_THROW(shift.Run(), kit::Error);
}

TEST(Compare, WorksOnEveryKindOfElement) {
  EXPECT_THAT(Binary<uint64_t>("Greater", 13, {2}, {UINT64_MAX, 1}, {2}, {1, 1}).Output<bool>(0),
              ElementsAre(true, false));
  EXPECT_THAT(Binary<bool>("Equal", 13, {2}, {true, false}, {1}, {true}).Output<bool>(0), ElementsAre(true, false));
  EXPECT_THAT(Binary<std::string>("Equal", 19, {2, 1}, {"a", "b"}, {2}, {"b", "a"}).Output<bool>(0),
              ElementsAre(false, true, true, false));
  EXPECT_THAT(Binary<float>("LessOrEqual", 16, {2}, {kNaN, 1}, {2}, {1, 1}, true).Output<bool>(0),
              ElementsAre(false, true));
}

TEST(Variadic, NaNWinsAndManyInputsBroadcast) {
  OpRunner max("Max", 13);
  max.Input<float>({2, 1}, {1, kNaN}).Input<float>({2}, {0, 5}).Input<float>({}, {2}).InPlace(true);
  max.Run();
  const std::vector<float> y = max.Output<float>(0);
  EXPECT_EQ(y[0], 2.0f);
  EXPECT_EQ(y[1], 5.0f);
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
}

TEST(Variadic, MeanOfOneInputIsThatInput) {
  OpRunner mean("Mean", 13);
  mean.Input<double>({2}, {1.5, -2});
  mean.Run();
  EXPECT_THAT(mean.Output<double>(0), ElementsAre(1.5, -2));
}

TEST(Where, SelectsElementsOfAnyType) {
  OpRunner strings("Where", 16);
  strings.Input<bool>({2, 1}, {true, false}).Input<std::string>({2}, {"a", "b"}).Input<std::string>({}, {"z"});
  strings.Run();
  EXPECT_THAT(strings.Output<std::string>(0), ElementsAre("a", "b", "z", "z"));
  OpRunner complex("Where", 16);
  using C = std::complex<double>;
  complex.Input<bool>({2}, {false, true}).Input<C>({2}, {{1, 2}, {3, 4}}).Input<C>({1}, {{5, 6}});
  complex.Run();
  EXPECT_THAT(complex.Output<C>(0), ElementsAre(C(5, 6), C(3, 4)));
}

TEST(PRelu, TheSlopeMustBroadcastToTheInput) {
  OpRunner prelu("PRelu", 16);
  prelu.Input<float>({2}, {-1, 1}).Input<float>({2, 2}, {1, 1, 1, 1});
  EXPECT_THAT([&] { prelu.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("slope")));
}

TEST(PRelu, BeforeOpset7TheSlopeIsPerChannel) {
  OpRunner prelu("PRelu", 6);
  prelu.Input<float>({1, 2, 2}, {-1, 1, -1, 1}).Input<float>({2}, {10, 100});
  prelu.Run();
  EXPECT_THAT(prelu.Output<float>(0), ElementsAre(-10, 1, -100, 1));
}

}  // namespace
}  // namespace epiphyte::test
