// Softmax, LogSoftmax and Hardmax: every opset's axes, rows of every length, with and without workgroup memory.
#include <cmath>
#include <limits>

#include "epiphyte/kit/shape/axes.hpp"
#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class Softmax : public OpTest {
 protected:
  std::vector<float> Run1(const std::string& node, const Dims& dims, const std::vector<float>& x) {
    std::string shape = "float[";
    for (size_t i = 0; i < dims.size(); ++i) shape += (i == 0 ? "" : ",") + std::to_string(dims[i]);
    shape += "]";
    return Run("in x: " + shape + "\ny = " + node + "(x) : " + shape + "\nout y\n", {Of<float>(dims, x)})[0]
        .As<float>();
  }

  void ExpectSoftmax(const Dims& dims, size_t axis) {
    std::vector<float> x(static_cast<size_t>(dims.Count()));
    for (size_t i = 0; i < x.size(); ++i) x[i] = 8 * std::sin(static_cast<float>(i * i % 1009));
    const std::string at = "<axis=" + std::to_string(axis) + ">";
    const std::vector<float> y = Run1("Softmax@13" + at, dims, x), log = Run1("LogSoftmax@13" + at, dims, x);
    const kit::AxisView view(dims, axis);
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
      const int64_t begin = row / view.inner * view.size * view.inner + row % view.inner;
      const auto place = [&](int64_t i) { return static_cast<size_t>(begin + i * view.inner); };
      double sum = 0;
      for (int64_t i = 0; i < view.size; ++i) sum += std::exp(static_cast<double>(x[place(i)]));
      for (int64_t i = 0; i < view.size; ++i) {
        const double exact = std::exp(static_cast<double>(x[place(i)])) / sum;
        ASSERT_NEAR(static_cast<double>(y[place(i)]), exact, exact * 1e-5) << row << ' ' << i;
        ASSERT_NEAR(static_cast<double>(log[place(i)]), std::log(exact), 2e-5) << row << ' ' << i;
      }
    }
  }
};

TEST_F(Softmax, AlongEveryAxis) {
  for (const bool shared : {false, true}) {
    if (shared) Prefer(Capability::kSharedMemory);
    for (size_t axis = 0; axis < 3; ++axis) ExpectSoftmax({3, 5, 7}, axis);
    for (const int64_t n : {1, 31, 32, 33, 200, 1000}) ExpectSoftmax({3, n}, 1);
  }
}

TEST_F(Softmax, BeforeOpset13EverythingFromTheAxisOnIsOneRow) {
  const std::vector<float> x = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_THAT(Run1("Softmax@11", {2, 2, 2}, x), testing::Each(0.25f));
  EXPECT_THAT(Run1("Softmax@11<axis=2>", {2, 2, 2}, x), testing::Each(0.5f));
  EXPECT_THAT(Run1("Softmax@11<axis=3>", {2, 2, 2}, x), testing::Each(1.0f));
}

TEST_F(Softmax, OfTheFirstOfEqualElementsHardmaxMakesOne) {
  EXPECT_THAT(Run1("Hardmax@13", {2, 4}, {1, 3, 3, 2, -5, -7, -5, -9}), ElementsAre(0, 1, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(Run1("Hardmax@13<axis=0>", {2, 2}, {1, 2, 1, 3}), ElementsAre(1, 0, 0, 1));
}

TEST_F(Softmax, LargeNumbersDoNotOverflowAndInfinitiesMask) {
  for (const bool shared : {false, true}) {
    if (shared) Prefer(Capability::kSharedMemory);
    EXPECT_THAT(Run1("Softmax@13", {1, 4}, {1000, 1000, -kInfinity, -1000}), ElementsAre(0.5f, 0.5f, 0, 0));
    EXPECT_THAT(Run1("Softmax@13", {1, 3}, {1, kNaN, 2}), testing::Each(testing::IsNan()));
    EXPECT_THAT(Run1("Softmax@13", {1, 2}, {-kInfinity, -kInfinity}), testing::Each(testing::IsNan()));
  }
}

TEST_F(Softmax, OfHalvesAndOfNothing) {
  const Tensors x = {Halves({1, 2}, {0, 0})};
  EXPECT_THAT(FromHalves(Run("in x: float16[1,2]\ny = Softmax@13(x) : float16[1,2]\nout y\n", x)[0]),
              ElementsAre(0.5f, 0.5f));
  EXPECT_TRUE(Run1("Softmax@13", {2, 0}, {}).empty());
  EXPECT_THAT(Run1("Softmax@13", {}, {3}), ElementsAre(1));
}

}  // namespace
}  // namespace epiphyte::vulkan
