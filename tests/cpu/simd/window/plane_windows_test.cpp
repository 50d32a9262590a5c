// Windows over planes, compared with plain loops over the taps.
#include "plugins/cpu/simd/window/plane_windows.h"

#include "plugins/cpu/simd/window/small_planes.h"
#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

int64_t Outputs(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t begin, int64_t end) {
  return (in + begin + end - (kernel - 1) * dilation - 1) / stride + 1;
}

// Planes narrower and wider than vectors, more than one band of rows, windows without any element, strides beyond the
// kernel.
std::vector<PlaneWindows> Cases() {
  std::vector<PlaneWindows> cases;
  const auto add = [&](int64_t height, int64_t width, int64_t kernel_y, int64_t kernel_x, int64_t stride_y,
                       int64_t stride_x, int64_t dilation, int64_t pad, int64_t pad_end) {
    PlaneWindows w;
    w.in_height = height, w.in_width = width;
    w.kernel_height = kernel_y, w.kernel_width = kernel_x;
    w.stride_y = stride_y, w.stride_x = stride_x;
    w.dilation_y = w.dilation_x = dilation;
    w.pad_top = w.pad_left = pad;
    w.out_height = Outputs(height, kernel_y, stride_y, dilation, pad, pad_end);
    w.out_width = Outputs(width, kernel_x, stride_x, dilation, pad, pad_end);
    cases.push_back(w);
  };
  for (int64_t width : {1, 2, 7, 15, 16, 17, 33, 56, 70}) {
    add(9, width, 3, 3, 1, 1, 1, 1, 1);
    add(9, width, 3, 3, 2, 2, 1, 1, 1);
    if (width >= 7) add(11, width, 5, 3, 1, 2, 2, 2, 1);
    add(6, width, 2, 1, 2, 3, 1, 0, 2);
    if (width >= 15) add(13, width, 1, 4, 3, 4, 3, 0, 0);
  }
  add(1, 300, 1, 3, 1, 1, 1, 0, 0);
  add(100, 112, 3, 3, 2, 2, 1, 1, 1);
  add(40, 230, 3, 3, 1, 1, 1, 1, 1);
  add(3, 3, 2, 2, 1, 1, 1, 4, 4);  // the outermost windows lie in the padding
  add(5, 5, 2, 3, 7, 9, 4, 5, 5);
  return cases;
}

std::string NameOf(const PlaneWindows& w) {
  return ::testing::PrintToString(std::vector<int64_t>{w.in_height, w.in_width, w.kernel_height, w.kernel_width,
                                                       w.stride_y, w.stride_x, w.dilation_y, w.pad_top});
}

// Calls visit(offset in the plane, index of the tap) for every tap inside the plane.
template <typename Visit>
void ForEachTap(const PlaneWindows& w, int64_t row, int64_t column, const Visit& visit) {
  for (int64_t ky = 0; ky < w.kernel_height; ++ky) {
    for (int64_t kx = 0; kx < w.kernel_width; ++kx) {
      const int64_t y = row * w.stride_y - w.pad_top + ky * w.dilation_y;
      const int64_t x = column * w.stride_x - w.pad_left + kx * w.dilation_x;
      if (y >= 0 && y < w.in_height && x >= 0 && x < w.in_width) visit(y * w.in_width + x, ky * w.kernel_width + kx);
    }
  }
}

using WindowsOverPlanes = EachTarget;
EPIPHYTE_EACH_TARGET(WindowsOverPlanes);

constexpr int64_t kPlanes = 3;
// More and fewer planes than are put side by side in a vector.
constexpr int64_t kSmallPlanes[] = {1, 3, 8, 16, 37};

template <typename Largest>
void ExpectLargest(const PlaneWindows& w, int64_t planes, int64_t scratch_floats, const Largest& largest) {
  SCOPED_TRACE(NameOf(w));
  const int64_t in_plane = w.in_height * w.in_width, out_plane = w.out_height * w.out_width;
  GuardedRow<float> x(RandomFloats(planes * in_plane, -9, -1)), y(planes * out_plane), scratch(scratch_floats);
  largest(w, x.data(), y.data(), planes, scratch.data());
  for (int64_t i = 0; i < planes * out_plane; ++i) {
    float expected = -std::numeric_limits<float>::infinity();
    ForEachTap(w, i % out_plane / w.out_width, i % w.out_width,
               [&](int64_t at, int64_t) { expected = std::max(expected, x[i / out_plane * in_plane + at]); });
    ASSERT_EQ(y[i], expected) << i;
  }
}
TEST_P(WindowsOverPlanes, GiveTheLargestTap) {
  for (const PlaneWindows& w : Cases()) {
    ExpectLargest(w, kPlanes, w.ScratchFloats(), LargestOfWindows);
    for (const int64_t planes : kSmallPlanes)
      ExpectLargest(w, planes, SmallPlaneScratchFloats(w), LargestOfSmallPlanes);
  }
}

template <typename Largest>
void ExpectNanWherever(const PlaneWindows& w, int64_t planes, int64_t scratch_floats, const Largest& largest) {
  SCOPED_TRACE(NameOf(w));
  const int64_t in_plane = w.in_height * w.in_width, out_plane = w.out_height * w.out_width;
  GuardedRow<float> x(RandomFloats(planes * in_plane, -9, -1)), y(planes * out_plane), scratch(scratch_floats);
  // About one in twenty elements is NaN, of either sign; some of the others are infinite.
  std::mt19937 random(5);
  for (int64_t i = 0; i < planes * in_plane; ++i) {
    const auto kind = random() % 80;
    if (kind < 4) x[i] = std::copysign(std::numeric_limits<float>::quiet_NaN(), kind < 2 ? -1.0f : 1.0f);
    if (kind == 4 || kind == 5) x[i] = std::copysign(std::numeric_limits<float>::infinity(), kind == 4 ? -1.0f : 1.0f);
  }
  largest(w, x.data(), y.data(), planes, scratch.data());
  for (int64_t i = 0; i < planes * out_plane; ++i) {
    bool has_nan = false;
    ForEachTap(w, i % out_plane / w.out_width, i % w.out_width,
               [&](int64_t at, int64_t) { has_nan |= std::isnan(x[i / out_plane * in_plane + at]); });
    ASSERT_EQ(std::isnan(y[i]), has_nan) << i;
  }
}
TEST_P(WindowsOverPlanes, GiveNanWhereverInAWindowItIs) {
  for (const PlaneWindows& w : Cases()) {
    ExpectNanWherever(w, kPlanes, w.ScratchFloats(), LargestOfWindows);
    for (const int64_t planes : kSmallPlanes)
      ExpectNanWherever(w, planes, SmallPlaneScratchFloats(w), LargestOfSmallPlanes);
  }
}

template <typename Average>
void ExpectAverage(const PlaneWindows& w, int64_t planes, int64_t scratch_floats, const Average& average) {
  SCOPED_TRACE(NameOf(w));
  const int64_t in_plane = w.in_height * w.in_width, out_plane = w.out_height * w.out_width;
  GuardedRow<float> x(RandomFloats(planes * in_plane, -1, 1)), y(planes * out_plane), scratch(scratch_floats);
  GuardedRow<float> rows(RandomFloats(w.out_height, 1, 4)), columns(RandomFloats(w.out_width, 1, 4, 2));
  average(w, x.data(), rows.data(), columns.data(), y.data(), planes, scratch.data());
  for (int64_t i = 0; i < planes * out_plane; ++i) {
    const int64_t row = i % out_plane / w.out_width, column = i % w.out_width;
    double sum = 0, magnitude = 0;
    ForEachTap(w, row, column, [&](int64_t at, int64_t) {
      const double tap = x[i / out_plane * in_plane + at];
      sum += tap, magnitude += std::fabs(tap);
    });
    const double count = static_cast<double>(rows[row]) * columns[column];
    // The bound allows one rounding for each tap, one for the product of the counts and one for the quotient.
    const auto steps = static_cast<double>(w.kernel_height * w.kernel_width + 2);
    ASSERT_NEAR(y[i], sum / count, 0x1p-24 * steps * magnitude / count) << i;
  }
}
TEST_P(WindowsOverPlanes, GiveTheAverageByTheCountsThatAreGiven) {
  for (const PlaneWindows& w : Cases()) {
    ExpectAverage(w, kPlanes, w.ScratchFloats(), AverageOfWindows);
    for (const int64_t planes : kSmallPlanes)
      ExpectAverage(w, planes, SmallPlaneScratchFloats(w), AverageOfSmallPlanes);
  }
}

// `convolve` is called as convolve(x, weights, biases, y, scratch).
template <typename Convolve>
void ExpectSums(const PlaneWindows& w, int64_t planes, int64_t scratch_floats, bool has_bias,
                const Convolve& convolve) {
  SCOPED_TRACE(NameOf(w));
  const int64_t in_plane = w.in_height * w.in_width, out_plane = w.out_height * w.out_width;
  const int64_t taps = w.kernel_height * w.kernel_width;
  GuardedRow<float> x(RandomFloats(planes * in_plane, -1, 1)), y(planes * out_plane), scratch(scratch_floats);
  GuardedRow<float> weights(RandomFloats(planes * taps, -1, 1, 2)), biases(RandomFloats(planes, -1, 1, 3));
  convolve(x.data(), weights.data(), has_bias ? biases.data() : nullptr, y.data(), scratch.data());
  for (int64_t i = 0; i < planes * out_plane; ++i) {
    const int64_t plane = i / out_plane;
    double sum = has_bias ? biases[plane] : 0, magnitude = std::fabs(sum);
    ForEachTap(w, i % out_plane / w.out_width, i % w.out_width, [&](int64_t at, int64_t tap) {
      const double product = static_cast<double>(x[plane * in_plane + at]) * weights[plane * taps + tap];
      sum += product, magnitude += std::fabs(product);
    });
    ASSERT_NEAR(y[i], sum, 0x1p-23 * static_cast<double>(taps + 1) * magnitude) << i;
  }
}
TEST_P(WindowsOverPlanes, GiveTheSumOfWeightedTaps) {
  for (const PlaneWindows& w : Cases()) {
    ExpectSums(w, 1, w.ScratchFloats(), true,
               [&](const float* x, const float* weights, const float* biases, float* y, float* scratch) {
                 ConvolvePlane(w, weights, biases, 1, x, y, scratch);
               });
    for (const int64_t planes : kSmallPlanes) {
      ExpectSums(w, planes, SmallPlaneScratchFloats(w), planes != 8,
                 [&](const float* x, const float* weights, const float* biases, float* y, float* scratch) {
                   ConvolveSmallPlanes(w, weights, biases, x, y, planes, scratch);
                 });
    }
  }
}

TEST_P(WindowsOverPlanes, SeveralKernelsOfOnePlaneGiveWhatEachGives) {
  constexpr int64_t kKernels = 5;
  for (const PlaneWindows& w : Cases()) {
    const int64_t taps = w.kernel_height * w.kernel_width, out_plane = w.out_height * w.out_width;
    const std::vector<float> x = RandomFloats(w.in_height * w.in_width, -1, 1, 1),
                             weights = RandomFloats(kKernels * taps, -1, 1, 2),
                             biases = RandomFloats(kKernels, -1, 1, 3);
    std::vector<float> scratch(static_cast<size_t>(w.ScratchFloats())), alone(static_cast<size_t>(out_plane));
    GuardedRow<float> together(kKernels * out_plane);
    ConvolvePlane(w, weights.data(), biases.data(), kKernels, x.data(), together.data(), scratch.data());
    for (int64_t k = 0; k < kKernels; ++k) {
      ConvolvePlane(w, weights.data() + k * taps, &biases[static_cast<size_t>(k)], 1, x.data(), alone.data(),
                    scratch.data());
      for (int64_t i = 0; i < out_plane; ++i) ASSERT_EQ(together[k * out_plane + i], alone[static_cast<size_t>(i)]);
    }
  }
}

TEST_P(WindowsOverPlanes, OfOnePlaneDoNotSeeAnother) {
  PlaneWindows w;
  w.in_height = w.in_width = w.out_height = w.out_width = 4;
  w.kernel_height = w.kernel_width = 3;
  w.pad_top = w.pad_left = 1;
  std::vector<float> x(48, 1.0f), y(48), scratch(static_cast<size_t>(w.ScratchFloats()));
  std::fill_n(x.begin() + 16, 16, 5.0f);
  LargestOfWindows(w, x.data(), y.data(), 3, scratch.data());
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(y[i], i / 16 == 1 ? 5 : 1) << i;
}

}  // namespace
}  // namespace epiphyte::cpu::simd
