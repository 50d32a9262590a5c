// Depthwise convolutions of channels-last images.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

std::vector<float> Numbers(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
  return numbers;
}

struct Case {
  int64_t channels, width, kernel, stride, pad;
  bool constant, relu;
};

std::vector<double> Expected(const Case& c, int64_t out, const std::vector<float>& x, const std::vector<float>& w,
                             const std::vector<float>& bias) {
  std::vector<double> y;
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    for (int64_t i = 0; i < out; ++i) {
      double sum = bias[static_cast<size_t>(channel)];
      for (int64_t k = 0; k < c.kernel; ++k) {
        const int64_t at = i * c.stride + k - c.pad;
        if (at < 0 || at >= c.width) continue;
        sum += static_cast<double>(x[static_cast<size_t>(channel * c.width + at)]) *
               static_cast<double>(w[static_cast<size_t>(channel * c.kernel + k)]);
      }
      y.push_back(c.relu ? std::max(sum, 0.0) : sum);
    }
  }
  return y;
}

// oneDNN has no depthwise kernel for numbers of channels such as 258: it would compute row-major products, channel by
// channel.
TEST(DepthwiseConv, OfChannelsThatLieLastAgreesWithPlainLoops) {
  for (const Case& c :
       {Case{258, 4, 5, 1, 2, true, false}, Case{258, 4, 5, 1, 2, false, false}, Case{258, 33, 3, 2, 1, true, true},
        Case{7, 19, 3, 1, 0, true, false}, Case{64, 20, 5, 1, 2, true, true}, Case{33, 1, 1, 1, 0, true, false}}) {
    const int64_t out = (c.width + 2 * c.pad - c.kernel) / c.stride + 1;
    const std::vector<float> x = Numbers(c.channels * c.width), w = Numbers(c.channels * c.kernel),
                             bias = Numbers(c.channels);
    OpRunner conv("Conv", c.relu ? 1 : 11, c.relu ? "epiphyte.kit" : "");
    conv.Attribute("group", c.channels).Attribute("pads", std::vector<int64_t>{c.pad, c.pad});
    conv.Attribute("strides", std::vector<int64_t>{c.stride});
    if (c.relu) conv.Attribute("activation", "Relu");
    conv.Input<float>({1, c.channels, c.width}, x).InOrder(0, {3, {0, 2, 1}});
    c.constant ? conv.Constant<float>({c.channels, 1, c.kernel}, w) : conv.Input<float>({c.channels, 1, c.kernel}, w);
    conv.Constant<float>({c.channels}, bias);
    conv.Run();
    for (int again = 0; again < 2; ++again) {
      const std::vector<float> found = conv.Output<float>(0);
      const std::vector<double> expected = Expected(c, out, x, w, bias);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-5) << c.channels << " channels, element " << i;
      conv.RunAgain();
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
