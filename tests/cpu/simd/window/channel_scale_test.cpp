#include "plugins/cpu/simd/window/channel_scale.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using ChannelScales = EachTarget;
EPIPHYTE_EACH_TARGET(ChannelScales);

// The bound allows two roundings; with fused multiply-add there is one.
void ExpectScaled(int64_t points, int64_t width, bool in_place) {
  SCOPED_TRACE(::testing::Message() << points << " points of " << width << " channels, in place " << in_place);
  const std::vector<float> before = RandomFloats(points * width, -3, 3, 1);
  GuardedRow<float> x(before), y(points * width), scale(RandomFloats(width, -2, 2, 2)),
      shift(RandomFloats(width, -2, 2, 3));
  float* const to = in_place ? x.data() : y.data();
  ScaleChannels(x.data(), scale.data(), shift.data(), to, points, width);
  for (int64_t i = 0; i < points * width; ++i) {
    const double product = static_cast<double>(before[static_cast<size_t>(i)]) * scale[i % width];
    const double expected = product + shift[i % width];
    ASSERT_NEAR(to[i], expected, 0x1p-24 * (std::fabs(product) + std::fabs(expected))) << i;
  }
}

TEST_P(ChannelScales, AreRightForEveryWidth) {
  for (int64_t width = 1; width <= 130; ++width) ExpectScaled(5, width, false);
}
TEST_P(ChannelScales, AreRightForEveryNumberOfPoints) {
  for (int64_t width : {1, 3, 4, 8, 16, 20, 31, 32, 64})
    for (int64_t points : {0, 1, 2, 127, 128, 129, 135, 300}) ExpectScaled(points, width, false);
}
TEST_P(ChannelScales, MayBeInPlace) {
  for (int64_t width : {1, 3, 8, 16, 32, 64, 100})
    for (int64_t points : {1, 7, 140}) ExpectScaled(points, width, true);
}
TEST_P(ChannelScales, PassNanAndInfinityOn) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {1, infinity, std::nanf("")}, scale = {2, -1, 1}, shift = {1, 1, 1};
  ScaleChannels(x.data(), scale.data(), shift.data(), x.data(), 1, 3);
  EXPECT_EQ(x[0], 3);
  EXPECT_EQ(x[1], -infinity);
  EXPECT_TRUE(std::isnan(x[2]));
}

}  // namespace
}  // namespace epiphyte::cpu::simd
