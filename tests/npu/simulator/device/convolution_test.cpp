// CONV compared with sums in the order of its formula, over random shapes, types and windows.
#include "plugins/npu/simulator/device/convolution.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace epiphyte::npusim {
namespace {

class RandomConv {
 public:
  explicit RandomConv(uint32_t seed) : random_(seed) {
    ConvCommand& c = command;
    c.depthwise = Below(3) == 0;
    c.height = 1 + Below(9);
    c.width = 1 + Below(9);
    c.in_channels = 1 + Below(40);
    c.out_channels = c.depthwise != 0 ? c.in_channels : 1 + Below(70);
    c.x_pixel_stride = c.in_channels + Below(3);
    c.x_row_stride = c.width * c.x_pixel_stride + Below(5);
    c.x_type = Below(2) == 0 ? Type::kInt8 : Type::kUint8;
    c.w_type = Below(2) == 0 ? Type::kInt8 : Type::kUint8;
    c.x_zero_point = ZeroPoint(c.x_type);
    c.w_zero_point = ZeroPoint(c.w_type);
    c.per_channel_zero_points = Below(3) == 0;
    c.window = {.height = 1 + Below(3),
                .width = 1 + Below(3),
                .stride_y = 1 + Below(2),
                .stride_x = 1 + Below(2),
                .dilation_y = 1 + Below(2),
                .dilation_x = 1 + Below(2),
                .pad_y = static_cast<int32_t>(Below(5)) - 1,
                .pad_x = static_cast<int32_t>(Below(5)) - 1};
    c.out_height = 1 + Below(7);
    c.out_width = 1 + Below(7);
    c.accumulate = Below(2);
    c.accumulator = Below(10);
    c.accumulator_pixel_stride = c.out_channels + Below(3);
    c.accumulator_row_stride = c.out_width * c.accumulator_pixel_stride + Below(3);
    c.x_offset = Below(7);
    c.w_offset = 20'000 + Below(7);
    c.w_row_stride = c.out_channels + Below(4);
    c.w_zero_points_offset = 60'000;
    scratchpad.resize(64'000);
    for (std::byte& b : scratchpad) b = static_cast<std::byte>(random_());
    for (uint32_t o = 0; o < c.out_channels; ++o) {
      const int32_t zero_point = ZeroPoint(c.w_type);
      std::memcpy(scratchpad.data() + c.w_zero_points_offset + 4 * o, &zero_point, 4);
    }
    accumulators.resize(16'384);
    for (int32_t& a : accumulators) a = static_cast<int32_t>(random_());
  }

  std::vector<int32_t> Expected() const {
    std::vector<int32_t> result = accumulators;
    const ConvCommand& c = command;
    const Window& w = c.window;
    for (uint32_t oy = 0; oy < c.out_height; ++oy) {
      for (uint32_t ox = 0; ox < c.out_width; ++ox) {
        for (uint32_t o = 0; o < c.out_channels; ++o) {
          int64_t sum = 0;
          for (uint32_t ky = 0; ky < w.height; ++ky) {
            for (uint32_t kx = 0; kx < w.width; ++kx) {
              const int64_t y = int64_t{oy} * w.stride_y - w.pad_y + int64_t{ky} * w.dilation_y;
              const int64_t x = int64_t{ox} * w.stride_x - w.pad_x + int64_t{kx} * w.dilation_x;
              if (y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
              const uint32_t position = ky * w.width + kx;
              for (uint32_t i = 0; i < (c.depthwise != 0 ? 1 : c.in_channels); ++i) {
                const uint32_t channel = c.depthwise != 0 ? o : i;
                const uint32_t row = c.depthwise != 0 ? position : position * c.in_channels + i;
                const int64_t image =
                    At(c.x_type, c.x_offset + y * c.x_row_stride + x * c.x_pixel_stride + channel) - c.x_zero_point;
                sum += image * (At(c.w_type, c.w_offset + row * c.w_row_stride + o) - ZeroPointOf(o));
              }
            }
          }
          int32_t& to = result[c.accumulator + oy * c.accumulator_row_stride + ox * c.accumulator_pixel_stride + o];
          to = static_cast<int32_t>(static_cast<uint32_t>(sum) + (c.accumulate != 0 ? static_cast<uint32_t>(to) : 0));
        }
      }
    }
    return result;
  }

  ConvCommand command;
  std::vector<std::byte> scratchpad;
  std::vector<int32_t> accumulators;

 private:
  uint32_t Below(uint32_t end) { return random_() % end; }
  int32_t ZeroPoint(Type type) { return static_cast<int32_t>(Below(256)) - (type == Type::kInt8 ? 128 : 0); }
  int64_t At(Type type, int64_t offset) const {
    const auto byte = static_cast<uint8_t>(scratchpad[offset]);
    return type == Type::kInt8 ? static_cast<int8_t>(byte) : int64_t{byte};
  }
  int64_t ZeroPointOf(uint32_t o) const {
    if (command.per_channel_zero_points == 0) return command.w_zero_point;
    int32_t value;
    std::memcpy(&value, scratchpad.data() + command.w_zero_points_offset + 4 * o, 4);
    return value;
  }

  std::mt19937 random_;
};

TEST(Convolution, MatchesItsFormulaWithAnyInstructionSet) {
  for (const Instructions most : {Instructions::kPortable, Instructions::kAvx2, Instructions::kAny}) {
    Convolution convolution(most);
    for (uint32_t seed = 0; seed < 400; ++seed) {
      RandomConv conv(seed);
      const std::vector<int32_t> expected = conv.Expected();
      convolution.Run(conv.command, conv.scratchpad.data(), conv.accumulators.data());
      ASSERT_EQ(conv.accumulators, expected) << "seed " << seed << ", instructions " << static_cast<int>(most);
    }
  }
}

// 70,000 products of (255 - 0) * (255 - 0) exceed 32 bits and wrap around.
TEST(Convolution, SumsWrapAround) {
  ConvCommand c;
  c.in_channels = 70'000;
  c.x_pixel_stride = c.x_row_stride = c.in_channels;
  c.x_type = c.w_type = Type::kUint8;
  c.w_offset = c.in_channels;
  c.w_row_stride = 1;
  c.accumulator_pixel_stride = c.accumulator_row_stride = 1;
  const std::vector<std::byte> scratchpad(140'000, std::byte{255});
  std::vector<int32_t> accumulators(1);
  Convolution().Run(c, scratchpad.data(), accumulators.data());
  EXPECT_EQ(accumulators[0], static_cast<int32_t>(70'000u * 255u * 255u));
}

}  // namespace
}  // namespace epiphyte::npusim
