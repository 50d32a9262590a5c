// Byte tensors with channels last. Operators of quantized networks leave such tensors. Operators that move elements
// read them without reordering and keep the order. NhwcMaxPool's tensors have the channels last in their shapes.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "epiphyte/kit/fuse/operators.hpp"
#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAreArray;

const cpu::AxisOrder kLast{4, {0, 2, 3, 1}};

template <typename T>
std::vector<T> Numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T& number : numbers) number = static_cast<T>(random());
  return numbers;
}
int64_t CountOf(const Shape& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

// Compares row-major images with images in channels-last order. `make(run)` adds attributes and inputs; the first
// `images` inputs are images. No input may be reordered. If `stays`, outputs are channels-last, too.
template <typename T, typename Make>
void ExpectStaysLast(const std::string& op, int64_t version, size_t outputs, size_t images, bool stays,
                     const Make& make) {
  SCOPED_TRACE(op + " of " + cpu::TypeName(cpu::kTypeOf<T>));
  OpRunner plain(op, version), last(op, version);
  for (OpRunner* run : {&plain, &last}) {
    make(*run);
    run->Outputs(outputs);
  }
  for (size_t i = 0; i < images; ++i) last.InOrder(i, kLast);
  plain.Run();
  last.Run();
  EXPECT_EQ(last.reorders(), 0);
  for (size_t i = 0; i < outputs; ++i) {
    EXPECT_EQ(last.Dims(i), plain.Dims(i));
    EXPECT_THAT(last.template Output<T>(i), ElementsAreArray(plain.template Output<T>(i)));
    EXPECT_TRUE(!stays || last.OutputOrder(i) == kLast) << i;
  }
}

template <typename T>
void ExpectAllStayLast() {
  const Shape dims = {2, 20, 5, 6};
  const std::vector<T> x = Numbers<T>(CountOf(dims), 1), more = Numbers<T>(2 * 7 * 30, 2);
  ExpectStaysLast<T>("Concat", 13, 1, 2, true, [&](OpRunner& run) {
    run.Attribute("axis", 1).template Input<T>(dims, x).template Input<T>({2, 7, 5, 6}, more);
  });
  ExpectStaysLast<T>("Split", 18, 3, 1, true, [&](OpRunner& run) {
    run.Attribute("axis", 1).template Input<T>(dims, x).template Input<int64_t>({3}, {4, 13, 3});
  });
  ExpectStaysLast<T>("Split", 18, 2, 1, true, [&](OpRunner& run) {
    run.Attribute("axis", 3).template Input<T>(dims, x).template Input<int64_t>({2}, {4, 2});
  });
  ExpectStaysLast<T>("Slice", 13, 1, 1, true, [&](OpRunner& run) {
    run.template Input<T>(dims, x).template Input<int64_t>({3}, {2, 4, 1}).template Input<int64_t>({3}, {19, 0, 5});
    run.template Input<int64_t>({3}, {1, 2, 3}).template Input<int64_t>({3}, {3, -1, 2});
  });
  ExpectStaysLast<T>("Resize", 13, 1, 1, true, [&](OpRunner& run) {
    run.Attribute("mode", "nearest").Attribute("coordinate_transformation_mode", "asymmetric");
    run.Attribute("nearest_mode", "floor");
    run.template Input<T>(dims, x).NoInput().template Input<float>({4}, {1, 1, 2, 2});
  });
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{0, 2, 3, 1}, {3, 1, 0, 2}}) {
    ExpectStaysLast<T>("Transpose", 13, 1, 1, false,
                       [&](OpRunner& run) { run.Attribute("perm", perm).template Input<T>(dims, x); });
  }
}
TEST(ByteLayout, WhatRearrangesLeavesChannelsLast) {
  ExpectAllStayLast<uint8_t>();
  ExpectAllStayLast<int8_t>();
  ExpectAllStayLast<int32_t>();
}

// --- pools

struct Pool {
  Shape x;  // shape [N, C, H, W]
  std::vector<int64_t> kernel, strides, pads, dilations;
  Shape y;

  explicit Pool(std::mt19937& random) {
    const auto between = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
    };
    x = {between(1, 2), between(1, 70), between(7, 12), between(7, 12)};
    for (int i = 0; i < 2; ++i) {
      kernel.push_back(between(1, 3));
      strides.push_back(between(1, 3));
      dilations.push_back(between(1, 2));
    }
    for (int i = 0; i < 4; ++i) pads.push_back(between(0, kernel[static_cast<size_t>(i % 2)] - 1));
    y = {x[0], x[1]};
    for (size_t d = 0; d < 2; ++d)
      y.push_back((x[d + 2] + pads[d] + pads[d + 2] - dilations[d] * (kernel[d] - 1) - 1) / strides[d] + 1);
  }
};

template <typename T>
void ExpectNhwcMaxPool() {
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    const Pool p(random);
    SCOPED_TRACE(i);
    const std::vector<T> x = Numbers<T>(CountOf(p.x), static_cast<unsigned>(i));  // in the shape [N, H, W, C]
    OpRunner pool("NhwcMaxPool", 1, "com.microsoft");
    pool.Attribute("kernel_shape", p.kernel).Attribute("strides", p.strides).Attribute("pads", p.pads);
    pool.Attribute("dilations", p.dilations).template Input<T>({p.x[0], p.x[2], p.x[3], p.x[1]}, x);
    pool.Run();
    EXPECT_EQ(pool.Dims(0), (Shape{p.y[0], p.y[2], p.y[3], p.y[1]}));
    std::vector<T> expected;
    for (int64_t n = 0; n < p.y[0]; ++n) {
      for (int64_t at = 0; at < p.y[2] * p.y[3]; ++at) {
        for (int64_t c = 0; c < p.y[1]; ++c) {
          T most = std::numeric_limits<T>::min();
          for (int64_t t = 0; t < p.kernel[0] * p.kernel[1]; ++t) {
            const int64_t row = at / p.y[3] * p.strides[0] - p.pads[0] + t / p.kernel[1] * p.dilations[0];
            const int64_t column = at % p.y[3] * p.strides[1] - p.pads[1] + t % p.kernel[1] * p.dilations[1];
            if (row < 0 || row >= p.x[2] || column < 0 || column >= p.x[3]) continue;
            most = std::max(most, x[static_cast<size_t>(((n * p.x[2] + row) * p.x[3] + column) * p.x[1] + c)]);
          }
          expected.push_back(most);
        }
      }
    }
    ASSERT_THAT(pool.template Output<T>(0), ElementsAreArray(expected));
  }
}
TEST(NhwcMaxPool, IsTheGreatestOfEachWindow) {
  ExpectNhwcMaxPool<uint8_t>();
  ExpectNhwcMaxPool<int8_t>();
}

template <typename T>
void ExpectGlobalAverages() {
  for (const Shape& dims : {Shape{2, 70, 5, 7}, Shape{1, 3, 41, 41}, Shape{3, 5, 1, 1}, Shape{1, 1, 9, 9}}) {
    for (const bool last : {false, true}) {
      const std::vector<T> x = Numbers<T>(CountOf(dims), 5);
      OpRunner pool("QLinearAveragePool", 1, std::string(kit::fuse::kDomain));
      pool.Attribute("global", 1).Attribute("scales", std::vector<float>{0.05f, 0.02f});
      pool.Attribute("zero_points", std::vector<int64_t>{7, 3}).template Input<T>(dims, x);
      if (last) pool.InOrder(0, kLast);
      pool.Run();
      EXPECT_EQ(pool.reorders(), 0);
      const int64_t plane = dims[2] * dims[3];
      const std::vector<T> found = pool.template Output<T>(0);
      ASSERT_EQ(found.size(), static_cast<size_t>(dims[0] * dims[1]));
      for (size_t i = 0; i < found.size(); ++i) {
        double sum = 0;
        for (int64_t k = 0; k < plane; ++k) sum += x[i * static_cast<size_t>(plane) + static_cast<size_t>(k)] - 7;
        const double mean = sum * 0.05 / static_cast<double>(plane) / 0.02 + 3;
        const double expected = std::clamp(mean, static_cast<double>(std::numeric_limits<T>::min()),
                                           static_cast<double>(std::numeric_limits<T>::max()));
        ASSERT_NEAR(found[i], expected, 0.5001) << "channel " << i << (last ? ", channels last" : "");
      }
    }
  }
}
TEST(QLinearGlobalAveragePool, SumsPlanesAsTheyLie) {
  ExpectGlobalAverages<uint8_t>();
  ExpectGlobalAverages<int8_t>();
}

// --- operators that repeat elements

template <typename T>
void ExpectRepeated() {
  SCOPED_TRACE(sizeof(T));
  const Shape dims = {2, 3, 37, 41};
  const std::vector<T> x = Numbers<T>(CountOf(dims), 6);
  OpRunner resize("Resize", 13);
  resize.Attribute("mode", "nearest").Attribute("coordinate_transformation_mode", "asymmetric");
  resize.Attribute("nearest_mode", "floor")
      .template Input<T>(dims, x)
      .NoInput()
      .template Input<float>({4}, {1, 1, 2, 2});
  resize.Run();
  OpRunner expand("Expand", 13);
  expand.template Input<T>({1, 70, 1, 1}, Numbers<T>(70, 7)).template Input<int64_t>({4}, {2, 70, 5, 90});
  expand.Run();
  const std::vector<T> doubled = resize.template Output<T>(0), spread = expand.template Output<T>(0);
  ASSERT_EQ(doubled.size(), x.size() * 4);
  for (int64_t i = 0; i < static_cast<int64_t>(doubled.size()); ++i) {
    const int64_t plane = i / (74 * 82), row = i / 82 % 74, column = i % 82;
    ASSERT_EQ(doubled[static_cast<size_t>(i)], x[static_cast<size_t>((plane * 37 + row / 2) * 41 + column / 2)]) << i;
  }
  const std::vector<T> channels = Numbers<T>(70, 7);
  ASSERT_EQ(spread.size(), 2u * 70 * 450);
  for (size_t i = 0; i < spread.size(); ++i) ASSERT_EQ(spread[i], channels[i / 450 % 70]) << i;
}
TEST(ByteLayout, NearestNeighboursAndExpandedChannelsRepeatElements) {
  ExpectRepeated<uint8_t>();
  ExpectRepeated<uint16_t>();
  ExpectRepeated<int32_t>();
  ExpectRepeated<int64_t>();
}

}  // namespace
}  // namespace epiphyte::test
