// Operations of the vector unit beside the array, compared with the same operations on real numbers.
#include "plugins/npu/simulator/device/vector_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "plugins/npu/simulator/device/elements.h"
#include "plugins/npu/simulator/isa/requantise.h"

namespace epiphyte::npusim {
namespace {

class VectorUnit : public testing::Test {
 protected:
  VectorUnit() : pad(64 * 1024) {
    for (std::byte& b : pad) b = static_cast<std::byte>(random());
  }
  uint32_t Below(uint32_t end) { return random() % end; }
  int32_t At(Type type, size_t offset) const {
    int32_t value = 0;
    ReadElements(type, pad.data() + offset, 1, 1, &value);
    return value;
  }
  template <typename T>
  void Put(size_t offset, const std::vector<T>& values) {
    std::memcpy(pad.data() + offset, values.data(), values.size() * sizeof(T));
  }
  static int32_t Low(Type type) { return type == Type::kInt8 ? -128 : type == Type::kInt16 ? -32768 : 0; }
  static int32_t High(Type type) {
    return type == Type::kInt8 ? 127 : type == Type::kUint8 ? 255 : type == Type::kInt16 ? 32767 : 65535;
  }
  Type AnyType() { return static_cast<Type>(1 + Below(4)); }
  int32_t AnyZeroPoint(Type type) {
    return Low(type) + static_cast<int32_t>(Below(static_cast<uint32_t>(High(type) - Low(type) + 1)));
  }
  static double Clamped(double real, int32_t zero_point, int32_t low, int32_t high) {
    return std::clamp<double>(std::round(real) + zero_point, low, high);
  }

  std::mt19937 random{11};
  std::vector<std::byte> pad;
};

TEST_F(VectorUnit, PostScalesEachChannelByItsFactorAndLooksUp) {
  std::vector<int32_t> accumulators(4096);
  for (int32_t& a : accumulators) a = static_cast<int32_t>(random()) >> 8;
  std::vector<double> factors;
  std::vector<ChannelFactor> table;
  for (int o = 0; o < 20; ++o) {
    factors.push_back(std::ldexp(1.0 + Below(1000) / 1000.0, -18 - static_cast<int>(Below(4))));
    const FixedPoint f = ToFixedPoint(factors.back());
    table.push_back({static_cast<int32_t>(random()) >> 10, f.multiplier, f.shift});
  }
  Put(0, table);
  std::vector<uint8_t> lookup(256);
  for (int i = 0; i < 256; ++i) lookup[i] = static_cast<uint8_t>(255 - i);
  Put(1024, lookup);
  for (const uint8_t looked_up : {0, 1}) {
    PostCommand c;
    c.accumulator = 5;
    c.accumulator_pixel_stride = 21;
    c.accumulator_row_stride = 100;
    c.height = 3;
    c.width = 4;
    c.channels = 20;
    c.y_offset = 4096;
    c.y_row_stride = 90;
    c.y_pixel_stride = 22;
    c.y_zero_point = -3;
    c.low = -100;
    c.high = 90;
    c.lookup = looked_up;
    c.lookup_offset = 1024;
    RunPost(c, accumulators.data(), pad.data());
    for (uint32_t y = 0; y < 3; ++y) {
      for (uint32_t x = 0; x < 4; ++x) {
        for (uint32_t o = 0; o < 20; ++o) {
          const double sum = double{1} * accumulators[5 + y * 100 + x * 21 + o] + table[o].bias;
          const double expected = Clamped(sum * factors[o], -3, -100, 90);
          int32_t found = At(Type::kInt8, 4096 + y * 90 + x * 22 + o);
          if (looked_up != 0) found = static_cast<int8_t>(255 - static_cast<uint8_t>(found));
          EXPECT_NEAR(found, expected, 1) << y << " " << x << " " << o;
        }
      }
    }
  }
}

TEST_F(VectorUnit, ElementwiseIsWithinAStepOverAllTypesAndKinds) {
  for (int round = 0; round < 300; ++round) {
    ElementwiseCommand c;
    c.kind = static_cast<Elementwise>(1 + Below(5));
    c.a_type = AnyType();
    c.b_type = AnyType();
    c.y_type = AnyType();
    c.a_zero_point = AnyZeroPoint(c.a_type);
    c.b_zero_point = AnyZeroPoint(c.b_type);
    c.y_zero_point = AnyZeroPoint(c.y_type);
    c.low = Low(c.y_type);
    c.high = High(c.y_type);
    c.count = {1, 1, 2, 3, 5};
    c.a_offset = 0;
    c.b_offset = 1024;
    c.y_offset = 2048;
    const auto sa = static_cast<int32_t>(TypeSize(c.a_type));
    const auto sb = static_cast<int32_t>(TypeSize(c.b_type));
    const auto sy = static_cast<int32_t>(TypeSize(c.y_type));
    c.a_stride = {0, 0, 20 * sa, 6 * sa, sa};
    c.b_stride = {0, 0, 0, 6 * sb, Below(2) == 0 ? 0 : sb};  // the second operand may be broadcast
    c.y_stride = {0, 0, 20 * sy, 6 * sy, sy};
    const double range = High(c.y_type) - Low(c.y_type);
    double fa = range / 600.0 / (High(c.a_type) - Low(c.a_type)) * (1 + Below(100));
    double fb = range / 600.0 / (High(c.b_type) - Low(c.b_type)) * (1 + Below(100)) * (Below(2) == 0 ? 1 : -1);
    if (c.kind == Elementwise::kMul) {
      fa /= High(c.b_type) - Low(c.b_type);
      const FixedPoint f = ToFixedPoint(fa, 30);
      c.a_multiplier = f.multiplier;
      c.shift = f.shift;
    } else {
      const FixedPointPair f = ToFixedPointPair(fa, c.kind == Elementwise::kRescale ? 0 : fb);
      c.a_multiplier = f.a;
      c.b_multiplier = f.b;
      c.shift = f.shift;
    }
    const std::vector<std::byte> before = pad;
    RunElementwise(c, pad.data());
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 5; ++k) {
          int32_t a = 0;
          int32_t b = 0;
          ReadElements(c.a_type, before.data() + i * c.a_stride[2] + j * c.a_stride[3] + k * c.a_stride[4], 1, 1, &a);
          ReadElements(c.b_type, before.data() + 1024 + j * c.b_stride[3] + k * c.b_stride[4], 1, 1, &b);
          const double ra = (a - c.a_zero_point) * fa;
          const double rb = (b - c.b_zero_point) * fb;
          const double real = c.kind == Elementwise::kAdd       ? ra + rb
                              : c.kind == Elementwise::kMul     ? ra * (b - c.b_zero_point)
                              : c.kind == Elementwise::kMaximum ? std::max(ra, rb)
                              : c.kind == Elementwise::kMinimum ? std::min(ra, rb)
                                                                : ra;
          EXPECT_NEAR(At(c.y_type, 2048 + i * c.y_stride[2] + j * c.y_stride[3] + k * c.y_stride[4]),
                      Clamped(real, c.y_zero_point, c.low, c.high), 1)
              << "round " << round << " kind " << static_cast<int>(c.kind);
        }
      }
    }
  }
}

TEST_F(VectorUnit, PoolsNeverLookAtPadding) {
  for (int round = 0; round < 200; ++round) {
    PoolCommand c;
    c.average = static_cast<uint8_t>(Below(2));
    c.height = 3 + Below(5);
    c.width = 3 + Below(5);
    c.channels = 1 + Below(5);
    c.x_type = Below(2) == 0 ? Type::kInt8 : Type::kUint8;
    c.x_zero_point = AnyZeroPoint(c.x_type);
    c.x_pixel_stride = c.channels;
    c.x_row_stride = c.width * c.channels;
    c.window = {.height = 2 + Below(2),
                .width = 2 + Below(2),
                .stride_y = 1 + Below(2),
                .stride_x = 1 + Below(2),
                .dilation_y = 1 + Below(c.average != 0 ? 1 : 2),
                .dilation_x = 1,
                .pad_y = static_cast<int32_t>(Below(2)),
                .pad_x = static_cast<int32_t>(Below(2))};
    c.divisor = Below(2) == 0 ? 0 : c.window.height * c.window.width;
    c.out_height = 2;
    c.out_width = 2;
    c.y_offset = 8192;
    c.y_pixel_stride = c.channels;
    c.y_row_stride = 2 * c.channels;
    c.y_type = c.x_type;
    c.y_zero_point = AnyZeroPoint(c.y_type);
    c.low = Low(c.y_type);
    c.high = High(c.y_type);
    const double factor = 0.25 + Below(100) / 80.0;
    const FixedPoint f = ToFixedPoint(factor);
    c.multiplier = f.multiplier;
    c.shift = f.shift;
    RunPool(c, pad.data());
    for (uint32_t oy = 0; oy < 2; ++oy) {
      for (uint32_t ox = 0; ox < 2; ++ox) {
        for (uint32_t ch = 0; ch < c.channels; ++ch) {
          double sum = 0;
          double best = -1e9;
          int inside = 0;
          for (uint32_t ky = 0; ky < c.window.height; ++ky) {
            for (uint32_t kx = 0; kx < c.window.width; ++kx) {
              const int y = static_cast<int>(oy * c.window.stride_y + ky * c.window.dilation_y) - c.window.pad_y;
              const int x = static_cast<int>(ox * c.window.stride_x + kx) - c.window.pad_x;
              if (y < 0 || x < 0 || y >= static_cast<int>(c.height) || x >= static_cast<int>(c.width)) continue;
              const double v = At(c.x_type, y * c.x_row_stride + x * c.x_pixel_stride + ch) - c.x_zero_point;
              sum += v;
              best = std::max(best, v);
              ++inside;
            }
          }
          if (inside == 0) continue;
          const double real = factor * (c.average != 0 ? sum / (c.divisor != 0 ? c.divisor : inside) : best);
          EXPECT_NEAR(At(c.y_type, 8192 + oy * c.y_row_stride + ox * c.y_pixel_stride + ch),
                      Clamped(real, c.y_zero_point, c.low, c.high), 1)
              << "round " << round;
        }
      }
    }
  }
}

TEST_F(VectorUnit, SoftmaxIsWithinAStep) {
  for (const uint32_t columns : {1u, 2u, 10u, 1000u}) {
    const double x_scale = 0.05;
    const double y_scale = 1.0 / 256;
    std::vector<uint32_t> exponentials(256);
    for (int d = 0; d < 256; ++d) {
      exponentials[d] = static_cast<uint32_t>(std::llround(std::exp(-d * x_scale) * (1 << 24)));
    }
    Put(60'000, exponentials);
    SoftmaxCommand c;
    c.rows = 3;
    c.columns = columns;
    c.x_row_stride = columns + 1;
    c.y_offset = 8192;
    c.y_row_stride = columns;
    c.y_type = Type::kUint8;
    c.exponentials_offset = 60'000;
    c.inverse_scale = static_cast<uint32_t>(std::llround(65536 / y_scale));
    c.low = 0;
    c.high = 255;
    RunSoftmax(c, pad.data());
    for (uint32_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (uint32_t j = 0; j < columns; ++j) sum += std::exp(At(Type::kInt8, row * c.x_row_stride + j) * x_scale);
      for (uint32_t j = 0; j < columns; ++j) {
        const double real = std::exp(At(Type::kInt8, row * c.x_row_stride + j) * x_scale) / sum / y_scale;
        EXPECT_NEAR(At(Type::kUint8, 8192 + row * columns + j), Clamped(real, 0, 0, 255), 1);
      }
    }
  }
}

TEST_F(VectorUnit, LayerNormIsWithinAStepAndFlatRowsAreTheBias) {
  constexpr uint32_t kColumns = 96;
  std::vector<float> scale(kColumns);
  std::vector<float> bias(kColumns);
  for (uint32_t j = 0; j < kColumns; ++j) {
    scale[j] = 10.0f + static_cast<float>(Below(100)) / 5;
    bias[j] = static_cast<float>(Below(100)) - 50;
  }
  Put(40'000, scale);
  Put(50'000, bias);
  std::fill_n(pad.begin() + kColumns, kColumns, std::byte{9});  // the second row is constant
  LayerNormCommand c;
  c.rows = 2;
  c.columns = kColumns;
  c.x_row_stride = kColumns;
  c.y_offset = 8192;
  c.y_row_stride = kColumns;
  c.scale_offset = 40'000;
  c.bias_offset = 50'000;
  c.epsilon = 2000;  // small compared with the variance of about 5,400
  c.y_zero_point = 4;
  RunLayerNorm(c, pad.data());
  double mean = 0;
  double variance = 0;
  for (uint32_t j = 0; j < kColumns; ++j) mean += At(Type::kInt8, j) / double{kColumns};
  for (uint32_t j = 0; j < kColumns; ++j) variance += std::pow(At(Type::kInt8, j) - mean, 2) / kColumns;
  for (uint32_t j = 0; j < kColumns; ++j) {
    const double real = (At(Type::kInt8, j) - mean) / std::sqrt(variance + 2000) * scale[j] + bias[j];
    EXPECT_NEAR(At(Type::kInt8, 8192 + j), Clamped(real, 4, -128, 127), 1);
    EXPECT_NEAR(At(Type::kInt8, 8192 + kColumns + j), bias[j] + 4, 1);
  }
}

TEST_F(VectorUnit, ResizeMixesRowsAndColumns) {
  std::vector<ResizeSource> rows = {{0, 1, 0}, {0, 1, 1u << 13}, {1, 1, 0}, {1, 900, 1u << 20}};
  std::vector<ResizeSource> columns = {{0, 1, 1u << 12}, {2, 2, 0}};
  Put(40'000, rows);
  Put(50'000, columns);
  ResizeCommand c;
  c.height = 2;
  c.width = 3;
  c.channels = 4;
  c.x_pixel_stride = 4;
  c.x_row_stride = 12;
  c.x_zero_point = -5;
  c.rows_offset = 40'000;
  c.columns_offset = 50'000;
  c.out_height = 4;
  c.out_width = 2;
  c.y_offset = 8192;
  c.y_pixel_stride = 4;
  c.y_row_stride = 8;
  c.y_zero_point = 3;
  const FixedPoint f = ToFixedPoint(0.5);
  c.multiplier = f.multiplier;
  c.shift = f.shift;
  RunResize(c, pad.data());
  const auto x = [&](int row, int column, int channel) {
    return At(Type::kInt8, row * 12 + column * 4 + channel) + 5.0;
  };
  for (int ch = 0; ch < 4; ++ch) {
    const double upper = 0.75 * x(0, 0, ch) + 0.25 * x(0, 1, ch);
    const double lower = 0.75 * x(1, 0, ch) + 0.25 * x(1, 1, ch);
    const double expected[4] = {upper, (upper + lower) / 2, lower, lower};
    for (int row = 0; row < 4; ++row) {
      EXPECT_NEAR(At(Type::kInt8, 8192 + row * 8 + ch), Clamped(expected[row] / 2, 3, -128, 127), 1);
    }
    EXPECT_NEAR(At(Type::kInt8, 8192 + 4 + ch), Clamped(x(0, 2, ch) / 2, 3, -128, 127), 1);
  }
}

TEST_F(VectorUnit, LookupTakesBytesAsUnsigned) {
  std::vector<uint16_t> table(256);
  for (int i = 0; i < 256; ++i) table[i] = static_cast<uint16_t>(i * 3);
  Put(4096, table);
  const std::vector<std::byte> before = pad;
  RunLookup({.y_offset = 8192,
             .table_offset = 4096,
             .rows = 2,
             .columns = 10,
             .x_row_stride = 12,
             .y_row_stride = 20,
             .y_element_size = 2},
            pad.data());
  for (size_t row = 0; row < 2; ++row) {
    for (size_t j = 0; j < 10; ++j) {
      uint16_t found;
      std::memcpy(&found, pad.data() + 8192 + row * 20 + j * 2, 2);
      EXPECT_EQ(found, static_cast<uint8_t>(before[row * 12 + j]) * 3);
    }
  }
}

TEST_F(VectorUnit, FillWritesItsLoopsAndNothingElse) {
  const std::vector<std::byte> before = pad;
  RunFill({.offset = 100, .element_size = 2, .value = 0xbeef, .count = {1, 1, 2, 3}, .stride = {0, 0, 20, 4}},
          pad.data());
  for (size_t i = 0; i < pad.size(); ++i) {
    const size_t at = i - 100;
    const bool inside = i >= 100 && at < 40 && at % 20 < 12 && at % 20 % 4 < 2;
    const std::byte expected = !inside ? before[i] : at % 2 == 0 ? std::byte{0xef} : std::byte{0xbe};
    ASSERT_EQ(pad[i], expected) << i;
  }
}

}  // namespace
}  // namespace epiphyte::npusim
