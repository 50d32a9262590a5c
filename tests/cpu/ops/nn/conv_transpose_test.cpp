// ConvTranspose, compared with its definition: every input element adds its multiple of the kernel to the output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "plugins/cpu/onednn/layout.h"
#include "tests/cpu/kernel_harness.h"
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;

struct Case {
  Shape x, w;  // shapes [N, I, d…] and [I, O/group, k…]
  int64_t group = 1;
  std::vector<int64_t> strides, dilations, pads, output_padding;
  bool bias = true;
};

// Small integers, so that sums are exact in any order.
template <typename T>
std::vector<T> Integers(const Shape& dims, int64_t step) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(static_cast<float>(i * step % 11 - 5)));
  return values;
}

// Advances `at` to the next position in a box of shape `dims`.
void Advance(Shape& at, const Shape& dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++at[i] < dims[i]) return;
    at[i] = 0;
  }
}
int64_t Product(const Shape& dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

struct Expected {
  Shape dims;
  std::vector<float> values;
};
Expected ByDefinition(const Case& c, const std::vector<float>& x, const std::vector<float>& w,
                      const std::vector<float>& bias) {
  const size_t spatial = c.x.size() - 2;
  const auto at = [](const std::vector<int64_t>& list, size_t i, int64_t fallback) {
    return list.empty() ? fallback : list[i];
  };
  const Shape in(c.x.begin() + 2, c.x.end());
  const Shape kernel(c.w.begin() + 2, c.w.end());
  Shape out;
  for (size_t i = 0; i < spatial; ++i) {
    out.push_back(at(c.strides, i, 1) * (in[i] - 1) + at(c.output_padding, i, 0) +
                  (kernel[i] - 1) * at(c.dilations, i, 1) + 1 - at(c.pads, i, 0) - at(c.pads, i + spatial, 0));
  }
  const int64_t in_count = Product(in), taps = Product(kernel), out_count = Product(out);
  const int64_t out_per_group = c.w[1], in_per_group = c.x[1] / c.group, channels = out_per_group * c.group;
  Expected y{{c.x[0], channels}, {}};
  y.dims.insert(y.dims.end(), out.begin(), out.end());
  for (int64_t i = 0; i < c.x[0] * channels * out_count; ++i) {
    y.values.push_back(c.bias ? bias[static_cast<size_t>(i / out_count % channels)] : 0.0f);
  }
  for (int64_t plane = 0; plane < c.x[0] * c.x[1]; ++plane) {
    const int64_t n = plane / c.x[1], i = plane % c.x[1];
    for (int64_t o = 0; o < out_per_group; ++o) {
      const int64_t target = (n * channels + i / in_per_group * out_per_group + o) * out_count;
      Shape position(spatial, 0);
      for (int64_t p = 0; p < in_count; ++p, Advance(position, in)) {
        Shape tap(spatial, 0);
        for (int64_t t = 0; t < taps; ++t, Advance(tap, kernel)) {
          int64_t offset = 0;
          bool inside = true;
          for (size_t d = 0; d < spatial; ++d) {
            const int64_t to = position[d] * at(c.strides, d, 1) + tap[d] * at(c.dilations, d, 1) - at(c.pads, d, 0);
            inside = inside && to >= 0 && to < out[d];
            offset = offset * out[d] + to;
          }
          if (inside) {
            y.values[static_cast<size_t>(target + offset)] +=
                x[static_cast<size_t>(plane * in_count + p)] *
                w[static_cast<size_t>((i * out_per_group + o) * taps + t)];
          }
        }
      }
    }
  }
  return y;
}

template <typename T>
OpRunner MakeRunner(const Case& c, bool constant) {
  OpRunner conv("ConvTranspose", 11);
  conv.Attribute("group", c.group);
  if (!c.strides.empty()) conv.Attribute("strides", c.strides);
  if (!c.dilations.empty()) conv.Attribute("dilations", c.dilations);
  if (!c.pads.empty()) conv.Attribute("pads", c.pads);
  if (!c.output_padding.empty()) conv.Attribute("output_padding", c.output_padding);
  conv.Input<T>(c.x, Integers<T>(c.x, 7));
  if (constant) {
    conv.Constant<T>(c.w, Integers<T>(c.w, 4));
  } else {
    conv.Input<T>(c.w, Integers<T>(c.w, 4));
  }
  const Shape channels = {c.w[1] * c.group};
  if (c.bias) conv.Input<T>(channels, Integers<T>(channels, 3));
  return conv;
}

// Returns the output in row-major order, in whatever layout the kernel wrote it.
std::vector<float> FloatOutput(const OpRunner& runner) {
  const cpu::Tensor& y = runner.OutputTensor(0);
  if (!y.layout) return runner.Output<float>(0);
  std::vector<float> values(static_cast<size_t>(y.Count()));
  cpu::ReorderToRowMajor(y, values.data());
  return values;
}

Expected Expectation(const Case& c) {
  return ByDefinition(c, Integers<float>(c.x, 7), Integers<float>(c.w, 4), Integers<float>({c.w[1] * c.group}, 3));
}

class ConvTransposeCases : public testing::TestWithParam<Case> {};

TEST_P(ConvTransposeCases, AgreesWithTheDefinition) {
  const Expected expected = Expectation(GetParam());
  for (bool constant : {false, true}) {
    OpRunner conv = MakeRunner<float>(GetParam(), constant);
    conv.Run();
    EXPECT_EQ(conv.Dims(0), expected.dims) << constant;
    EXPECT_EQ(FloatOutput(conv), expected.values) << constant;
    conv.RunAgain();
    EXPECT_EQ(FloatOutput(conv), expected.values) << constant;
  }
}

TEST_P(ConvTransposeCases, OtherTypesAgreeToo) {
  const Expected expected = Expectation(GetParam());
  OpRunner doubles = MakeRunner<double>(GetParam(), true);
  doubles.Run();
  EXPECT_EQ(doubles.Dims(0), expected.dims);
  EXPECT_EQ(doubles.Output<double>(0), std::vector<double>(expected.values.begin(), expected.values.end()));
  OpRunner halves = MakeRunner<cpu::Float16>(GetParam(), true);
  halves.Run();
  const std::vector<cpu::Float16> y = halves.Output<cpu::Float16>(0);
  ASSERT_EQ(y.size(), expected.values.size());
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(static_cast<float>(y[i]), static_cast<float>(cpu::Float16(expected.values[i]))) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvTransposeCases,
    testing::Values(
        Case{.x = {1, 1, 5}, .w = {1, 2, 3}},
        Case{.x = {2, 3, 6}, .w = {3, 4, 3}, .strides = {2}, .dilations = {2}, .pads = {1, 2}},
        Case{.x = {1, 16, 7, 6}, .w = {16, 32, 3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}},
        Case{.x = {1, 16, 7, 6}, .w = {16, 32, 4, 4}, .strides = {2, 2}, .pads = {1, 1, 1, 1}, .bias = false},
        Case{.x = {2, 6, 4, 5}, .w = {6, 3, 3, 2}, .group = 2, .strides = {3, 2}, .output_padding = {2, 1}},
        Case{.x = {1, 8, 5, 5}, .w = {8, 1, 3, 3}, .group = 8, .strides = {2, 2}, .pads = {1, 0, 0, 1}},
        Case{.x = {1, 32, 5, 5}, .w = {32, 8, 3, 3}, .group = 2, .dilations = {1, 2}},
        Case{.x = {1, 2, 3, 4, 3}, .w = {2, 3, 2, 3, 2}, .strides = {1, 2, 3}, .pads = {0, 1, 1, 1, 0, 1}},
        // Kernels that don't overlap.
        Case{.x = {2, 16, 7, 6}, .w = {16, 5, 2, 2}, .strides = {2, 2}},
        Case{.x = {1, 3, 4, 21}, .w = {3, 20, 2, 3}, .strides = {2, 3}, .bias = false},
        Case{.x = {1, 3, 4, 5}, .w = {3, 2, 1, 2}, .strides = {1, 2}, .dilations = {3, 1}},
        Case{.x = {1, 3, 4, 5}, .w = {3, 2, 2, 2}, .strides = {2, 2}, .output_padding = {1, 0}},
        Case{.x = {1, 4, 4, 5}, .w = {4, 2, 2, 2}, .group = 2, .strides = {2, 2}},
        Case{.x = {1, 4, 4, 5}, .w = {4, 2, 2, 2}, .strides = {2, 2}, .pads = {1, 0, 1, 0}},
        // Kernels that leave some outputs without a contribution, and pads beyond the kernel.
        Case{.x = {1, 2, 3, 3}, .w = {2, 2, 1, 1}, .strides = {3, 2}},
        Case{.x = {1, 1, 6, 6}, .w = {1, 2, 2, 2}, .pads = {2, 3, 2, 1}},
        Case{.x = {1, 1, 4}, .w = {1, 1, 2}, .pads = {-2, -1}},
        // An output_padding larger than the stride.
        Case{.x = {1, 2, 3}, .w = {2, 2, 2}, .output_padding = {3}},
        Case{.x = {1, 1, 2, 2, 2, 2}, .w = {1, 1, 2, 2, 2, 2}, .strides = {1, 2, 1, 2}}));

TEST(ConvTranspose, OutputShapeSharesOutThePadding) {
  // The kernels cover seven positions. `output_shape` asks for seven, for fewer and for more.
  const auto run = [](const char* auto_pad, std::vector<int64_t> output_shape) {
    OpRunner conv("ConvTranspose", 11);
    conv.Attribute("strides", std::vector<int64_t>{2}).Attribute("output_shape", output_shape);
    conv.Attribute("auto_pad", auto_pad);
    conv.Input<float>({1, 1, 3}, {1, 10, 100}).Input<float>({1, 1, 3}, {1, 2, 3}).Run();
    return FloatOutput(conv);
  };
  // The sums without padding are 1, 2, 3+10, 20, 30+100, 200, 300.
  EXPECT_THAT(run("NOTSET", {7}), ElementsAre(1, 2, 13, 20, 130, 200, 300));
  EXPECT_THAT(run("NOTSET", {4}), ElementsAre(13, 20, 130, 200));
  EXPECT_THAT(run("SAME_LOWER", {4}), ElementsAre(13, 20, 130, 200));
  EXPECT_THAT(run("SAME_UPPER", {4}), ElementsAre(2, 13, 20, 130));
  EXPECT_THAT(run("NOTSET", {1, 1, 4}), ElementsAre(13, 20, 130, 200));
  EXPECT_THAT(run("NOTSET", {9}), ElementsAre(1, 2, 13, 20, 130, 200, 300, 0, 0));
}

TEST(ConvTranspose, SamePadsToAMultipleOfTheInput) {
  OpRunner upper("ConvTranspose", 11);
  upper.Attribute("strides", std::vector<int64_t>{2}).Attribute("auto_pad", "SAME_UPPER");
  upper.Input<float>({1, 1, 3}, {1, 10, 100}).Input<float>({1, 1, 3}, {1, 2, 3}).Run();
  EXPECT_THAT(FloatOutput(upper), ElementsAre(1, 2, 13, 20, 130, 200));
  OpRunner lower("ConvTranspose", 11);
  lower.Attribute("strides", std::vector<int64_t>{2}).Attribute("auto_pad", "SAME_LOWER");
  lower.Input<float>({1, 1, 3}, {1, 10, 100}).Input<float>({1, 1, 3}, {1, 2, 3}).Run();
  EXPECT_THAT(FloatOutput(lower), ElementsAre(2, 13, 20, 130, 200, 300));
}

TEST(ConvTranspose, WithoutInputChannelsOnlyTheBiasIsLeft) {
  OpRunner conv("ConvTranspose", 11);
  conv.Input<float>({1, 0, 2}, {}).Input<float>({0, 2, 2}, {}).Input<float>({2}, {3, 4}).Run();
  EXPECT_EQ(conv.Dims(0), (Shape{1, 2, 3}));
  EXPECT_THAT(conv.Output<float>(0), ElementsAre(3, 3, 3, 4, 4, 4));
  OpRunner empty("ConvTranspose", 11);
  empty.Input<float>({0, 1, 2}, {}).Constant<float>({1, 1, 2}, {1, 1}).Run();
  EXPECT_EQ(empty.Dims(0), (Shape{0, 1, 3}));
}

TEST(ConvTranspose, RefusesWhatDoesNotFitTogether) {
  const auto failure = [](const Shape& x, const Shape& w, const std::function<void(OpRunner&)>& change) {
    OpRunner conv("ConvTranspose", 11);
    conv.Input<float>(x, Integers<float>(x, 1)).Constant<float>(w, Integers<float>(w, 1));
    change(conv);
    return Failure(conv);
  };
  const auto nothing = [](OpRunner&) {};
  const auto ints = [](const char* name, std::vector<int64_t> values) {
    return [=](OpRunner& conv) { conv.Attribute(name, values); };
  };
  EXPECT_NE(failure({1, 2}, {2, 1}, nothing), "");
  EXPECT_NE(failure({1, 2, 3}, {2, 1, 3, 3}, nothing), "");
  EXPECT_NE(failure({1, 2, 3}, {3, 1, 3}, nothing), "");
  EXPECT_NE(failure({1, 3, 3}, {3, 1, 3}, [](OpRunner& conv) { conv.Attribute("group", 2); }), "");
  EXPECT_NE(failure({1, 3, 3}, {3, 1, 3}, [](OpRunner& conv) { conv.Attribute("group", 0); }), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 2, 3}, [](OpRunner& conv) { conv.Input<float>({3}, {1, 2, 3}); }), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 3}, ints("kernel_shape", {2})), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 3}, ints("strides", {0})), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 3}, ints("dilations", {INT64_MAX})), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 3}, ints("pads", {1})), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 3}, ints("pads", {3, 3})), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 3}, ints("output_padding", {-1})), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 3}, ints("output_shape", {3, 3})), "");
  EXPECT_NE(failure({1, 1, 3}, {1, 1, 0}, nothing), "");
}

TEST(ConvTranspose, RefusesSizesThatOverflow) {
  // The input has no elements, so only the arithmetic on shapes can fail.
  OpRunner conv("ConvTranspose", 11);
  conv.Attribute("strides", std::vector<int64_t>{int64_t{1} << 31});
  conv.Input<float>({0, 1, int64_t{1} << 40}, {}).Input<float>({1, 1, 1}, {1});
  EXPECT_NE(Failure(conv), "");
  OpRunner wide("ConvTranspose", 11);
  wide.Attribute("group", int64_t{1} << 40);
  wide.Input<float>({1, 0, 1}, {}).Input<float>({0, int64_t{1} << 40, 1}, {});
  EXPECT_NE(Failure(wide), "");
}

}  // namespace
}  // namespace epiphyte::test
