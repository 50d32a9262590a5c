// Kernels of float16 and bfloat16 compute in float, a block of a row at a time. Their results are those of the float
// kernel on the same numbers, rounded once. Rows here are longer than a block, and no multiple of one.
#include "plugins/cpu/kernel/small_floats.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using cpu::BFloat16;
using cpu::Float16;

constexpr int64_t kLong = 3 * cpu::kFloatBlock / 2 + 5;

template <typename T>
std::vector<T> Numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(T(std::uniform_real_distribution<float>(0.1f, 2)(random)));
  return numbers;
}
template <typename T>
std::vector<float> Widened(const std::vector<T>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// An operator with its attributes and the shapes of its inputs.
struct Case {
  std::string op_type;
  int64_t version;
  std::vector<Shape> inputs;
  std::vector<std::pair<std::string, int64_t>> attributes;
  // Sums of a row are taken block by block, so the last bits of the float before rounding may differ.
  bool sums = false;
};

template <typename T>
OpRunner Prepared(const Case& c) {
  OpRunner op(c.op_type, c.version);
  for (const auto& [name, value] : c.attributes) op.Attribute(name, value);
  return op;
}

const Case kCases[] = {
    {"Add", 14, {{3, kLong}, {3, kLong}}, {}},
    {"Sub", 14, {{3, kLong}, {1}}, {}},
    {"Div", 14, {{}, {3, kLong}}, {}},
    {"Mul", 14, {{3, kLong}, {kLong}}, {}},
    {"PRelu", 16, {{3, kLong}, {3, 1}}, {}},
    {"Mod", 13, {{2, kLong}, {kLong}}, {{"fmod", 1}}},
    {"Sigmoid", 13, {{kLong}}, {}},
    {"Cos", 7, {{kLong}}, {}},
    {"Softmax", 13, {{2, kLong}}, {}, true},
    {"Softmax", 13, {{kLong, 2}}, {{"axis", 0}}, true},
    {"LogSoftmax", 13, {{2, kLong}}, {}, true},
    {"ReduceSum", 13, {{2, kLong}}, {}, true},
    {"ReduceL2", 13, {{kLong, 700}}, {}, true},
    {"ReduceMax", 13, {{2, kLong}}, {}},
    {"ReduceLogSumExp", 13, {{2, kLong}}, {}, true},
    {"LayerNormalization", 17, {{2, kLong}, {kLong}, {kLong}}, {}, true},
    {"LayerNormalization", 17, {{2, kLong}, {1}, {1}}, {}, true},
    {"GroupNormalization", 21, {{1, 4, kLong}, {4}, {4}}, {{"num_groups", 2}}, true},
};

template <typename T>
class SmallFloatKernels : public testing::Test {
 public:
  // Difference between 1 and the next number of type T.
  static constexpr float kStep = std::is_same_v<T, Float16> ? 0x1p-10f : 0x1p-7f;
};
using SmallFloatTypes = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(SmallFloatKernels, SmallFloatTypes);

TYPED_TEST(SmallFloatKernels, GiveWhatFloatKernelsGive) {
  using T = TypeParam;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.op_type);
    OpRunner small = Prepared<T>(c), wide = Prepared<float>(c);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      int64_t count = 1;
      for (const int64_t dim : c.inputs[i]) count *= dim;
      const std::vector<T> numbers = Numbers<T>(count, static_cast<uint32_t>(i));
      small.Input<T>(c.inputs[i], numbers);
      wide.Input<float>(c.inputs[i], Widened(numbers));
    }
    small.Run();
    wide.Run();
    const std::vector<T> found = small.Output<T>(0);
    const std::vector<float> expected = wide.Output<float>(0);
    ASSERT_EQ(small.Dims(0), wide.Dims(0));
    for (size_t i = 0; i < expected.size(); ++i) {
      if (c.sums) {
        ASSERT_NEAR(static_cast<float>(found[i]), expected[i], std::abs(expected[i]) * this->kStep * 0.51f) << i;
      } else {
        ASSERT_EQ(found[i].bits, T(expected[i]).bits) << i;
      }
    }
  }
}

TYPED_TEST(SmallFloatKernels, CompareAsFloats) {
  using T = TypeParam;
  const std::vector<T> a = Numbers<T>(kLong, 1), b = Numbers<T>(kLong, 2);
  OpRunner op("Less", 13);
  op.Input<T>({kLong}, a);
  op.Input<T>({kLong}, b);
  op.Run();
  const std::vector<uint8_t> less = [&] {
    const bool* data = op.OutputTensor(0).as<bool>();
    return std::vector<uint8_t>(data, data + kLong);
  }();
  for (size_t i = 0; i < less.size(); ++i) ASSERT_EQ(less[i] != 0, static_cast<float>(a[i]) < static_cast<float>(b[i]));
}

// Every pair of types of which one has 16 bits, with more elements than a block. Doubles are rounded once.
TYPED_TEST(SmallFloatKernels, AreCastFromAndToEveryType) {
  using T = TypeParam;
  std::vector<T> numbers;
  for (int64_t i = 0; i < kLong; ++i) numbers.push_back(T(static_cast<float>(i % 100)));
  const auto cast = [&]<typename To>() {
    OpRunner there("Cast", 13);
    there.Attribute("to", int64_t{cpu::kTypeOf<To>}).template Input<T>({kLong}, numbers);
    there.Run();
    const std::vector<To> others = there.Output<To>(0);
    for (size_t i = 0; i < others.size(); ++i)
      ASSERT_EQ(static_cast<double>(static_cast<cpu::Compute<To>>(others[i])), static_cast<double>(i % 100));
    OpRunner back("Cast", 13);
    back.Attribute("to", int64_t{cpu::kTypeOf<T>}).template Input<To>({kLong}, others);
    back.Run();
    const std::vector<T> again = back.Output<T>(0);
    for (size_t i = 0; i < again.size(); ++i) ASSERT_EQ(again[i].bits, numbers[i].bits);
  };
  cast.template operator()<double>();
  cast.template operator()<int8_t>();
  cast.template operator()<uint16_t>();
  cast.template operator()<int64_t>();
  cast.template operator()<uint64_t>();
  cast.template operator()<std::conditional_t<std::is_same_v<T, Float16>, BFloat16, Float16>>();

  const double halfway = 1 + this->kStep / 2, above = halfway + 0x1p-40;  // as a float, the second equals the first
  OpRunner once("Cast", 13);
  once.Attribute("to", int64_t{cpu::kTypeOf<T>}).template Input<double>({2}, {halfway, above});
  once.Run();
  EXPECT_EQ(static_cast<float>(once.Output<T>(0)[0]), 1);
  EXPECT_EQ(static_cast<float>(once.Output<T>(0)[1]), 1 + this->kStep);
}

}  // namespace
}  // namespace epiphyte::test
