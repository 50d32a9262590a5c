// Convolutions computed as GEMMs of windows with packed panels: any shape, with any fused operators.
#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/onednn/panel_window.h"
#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using cpu::MemoryDesc;

std::vector<float> WindowWaves(int64_t count, double step) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i) * step));
  return values;
}

int64_t ElementsIn(const Shape& dims) { return cpu::Dims(dims).Count(); }

struct WindowCase {
  Shape x, w;  // shapes [N, C, d…] and [M, C, k…]
  std::vector<int64_t> strides, dilations, pads;

  kit::ConvolutionShape Resolved() const {
    kit::WindowAttributes attributes;
    attributes.strides = strides;
    attributes.dilations = dilations;
    attributes.pads = pads;
    return kit::ConvolutionShape(attributes, cpu::Dims(x), cpu::Dims(w), 1);
  }
};

std::ostream& operator<<(std::ostream& out, const WindowCase& c) {
  return out << testing::PrintToString(c.x) << " by " << testing::PrintToString(c.w) << ", strides "
             << testing::PrintToString(c.strides) << ", dilations " << testing::PrintToString(c.dilations) << ", pads "
             << testing::PrintToString(c.pads);
}

// Reference convolution, element by element in double.
std::vector<double> Convolve(const WindowCase& c, const kit::ConvolutionShape& shape, const std::vector<float>& x,
                             const std::vector<float>& w) {
  const size_t spatial = shape.spatial();
  std::vector<double> y;
  for (int64_t i = 0; i < shape.y.Count(); ++i) {
    const int64_t position = i % shape.positions(), filter = i / shape.positions() % shape.filters();
    const int64_t image = i / shape.positions() / shape.filters();
    double sum = 0;
    for (int64_t tap = 0; tap < shape.taps(); ++tap) {
      int64_t pixel = 0, pixels = 1, rest = position, taps = tap;
      bool inside = true;
      for (size_t d = spatial; d-- > 0;) {
        const int64_t at = rest % shape.y[d + 2] * c.strides[d] + taps % c.w[d + 2] * c.dilations[d] - c.pads[d];
        inside = inside && at >= 0 && at < c.x[d + 2];
        pixel += at * pixels;
        pixels *= c.x[d + 2];
        rest /= shape.y[d + 2];
        taps /= c.w[d + 2];
      }
      for (int64_t channel = 0; inside && channel < c.x[1]; ++channel)
        sum += static_cast<double>(x[static_cast<size_t>((image * c.x[1] + channel) * pixels + pixel)]) *
               w[static_cast<size_t>((filter * c.x[1] + channel) * shape.taps() + tap)];
    }
    y.push_back(sum);
  }
  return y;
}

const WindowCase kCases[] = {
    {{1, 64, 7, 7}, {64, 64, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {{1, 400, 7, 7}, {100, 400, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {{1, 64, 7, 7}, {128, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {{1, 430, 5, 6}, {70, 430, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {{1, 32, 14, 14}, {200, 32, 3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {{1, 48, 15, 13}, {64, 48, 1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {{3, 17, 9, 11}, {65, 17, 3, 2}, {1, 2}, {2, 1}, {2, 0, 1, 1}},
    {{2, 24, 8, 8}, {20, 24, 5, 5}, {3, 1}, {1, 1}, {4, 2, 0, 2}},
    {{1, 1, 640}, {258, 1, 256}, {128}, {1}, {0, 0}},  // a window is contiguous in memory
    {{2, 3, 9, 20}, {70, 3, 3, 7}, {1, 2}, {1, 1}, {1, 0, 1, 0}},
    {{1, 80, 40}, {384, 80, 3}, {1}, {1}, {1, 1}},
    {{2, 40, 31}, {33, 40, 4}, {2}, {3}, {0, 5}},
    {{1, 16, 5, 6, 7}, {64, 16, 2, 3, 3}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1, 1, 1, 1}},
    {{1, 64, 1, 1}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {{1, 32, 30, 30}, {64, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // more rows than panels are used for
};

TEST(PanelWindow, ConvolvesAnyShape) {
  for (const WindowCase& c : kCases) {
    SCOPED_TRACE(c);
    const kit::ConvolutionShape shape = c.Resolved();
    const std::vector<float> x = WindowWaves(ElementsIn(c.x), 0.7), w = WindowWaves(ElementsIn(c.w), 0.3),
                             bias = WindowWaves(c.w[0], 1.1);
    const std::vector<double> exact = Convolve(c, shape, x, w);
    OpRunner runner("Conv", 11);
    runner.Attribute("strides", c.strides).Attribute("dilations", c.dilations).Attribute("pads", c.pads);
    runner.Input<float>(c.x, x).Constant<float>(c.w, w).Constant<float>({c.w[0]}, bias).Run();
    const std::vector<float> y = runner.Output<float>(0);
    ASSERT_EQ(y.size(), exact.size());
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], exact[i] + bias[i / shape.positions() % bias.size()], 2e-4) << i;
  }
}

TEST(PanelWindow, ResidualAndActivation) {
  for (const WindowCase& c : kCases) {
    SCOPED_TRACE(c);
    const kit::ConvolutionShape shape = c.Resolved();
    const std::vector<float> x = WindowWaves(ElementsIn(c.x), 0.7), w = WindowWaves(ElementsIn(c.w), 0.3),
                             bias = WindowWaves(c.w[0], 1.1);
    const std::vector<float> residual = WindowWaves(shape.y.Count(), 0.9);
    const std::vector<double> exact = Convolve(c, shape, x, w);
    for (const bool in_place : {false, true}) {
      OpRunner runner("Conv", 1, std::string(kit::fuse::kDomain));
      runner.Attribute("strides", c.strides).Attribute("dilations", c.dilations).Attribute("pads", c.pads);
      runner.Attribute("activation", "LeakyRelu").Attribute("activation_alpha", 0.25f);
      runner.Input<float>(c.x, x).Constant<float>(c.w, w).Constant<float>({c.w[0]}, bias);
      runner.Input<float>(Shape(shape.y.begin(), shape.y.end()), residual).InPlace(in_place).Run();
      const std::vector<float> y = runner.Output<float>(0);
      for (size_t i = 0; i < y.size(); ++i) {
        const double sum = exact[i] + bias[i / shape.positions() % bias.size()] + residual[i];
        ASSERT_NEAR(y[i], sum < 0 ? sum * 0.25 : sum, 2e-4) << i << " in place " << in_place;
      }
    }
  }
}

// Returns nullopt if oneDNN 3 can't express such a layout. Every layout that weights get can be expressed.
std::optional<MemoryDesc> Panelled(std::vector<int64_t> dims, int64_t width, std::vector<int64_t> strides) {
  cpu::BlockedDesc d;
  d.blocked = true;
  d.dims = d.padded = std::move(dims);
  d.padded[0] = (d.dims[0] + width - 1) / width * width;
  d.strides = std::move(strides);
  d.block_sizes = {width};
  d.block_dims = {0};
  return cpu::MakeDesc(d, EP_TYPE_FLOAT);
}

bool AreWindowPanels(const std::optional<MemoryDesc>& desc) { return desc && cpu::WindowPanelsOf(*desc).has_value(); }

TEST(PanelWindow, OfWeightsWithChannelsInnermost) {
  const std::optional<MemoryDesc> desc = Panelled({96, 16, 3, 2}, 48, {48 * 96, 48, 48 * 32, 48 * 16});
  ASSERT_TRUE(desc);
  const auto panels = cpu::WindowPanelsOf(*desc);
  ASSERT_TRUE(panels);
  EXPECT_EQ(panels->width, 48);
  EXPECT_EQ(panels->stride, 48 * 96);
  // Not window panels: innermost taps; channels between the taps; gaps; another width; no spatial dimensions.
  EXPECT_FALSE(AreWindowPanels(Panelled({96, 16, 3, 2}, 48, {48 * 96, 48 * 6, 48 * 2, 48})));
  EXPECT_FALSE(AreWindowPanels(Panelled({96, 16, 3, 2}, 48, {48 * 96, 48 * 2, 48 * 32, 48})));
  EXPECT_FALSE(AreWindowPanels(Panelled({96, 16, 3, 2}, 48, {48 * 100, 48, 48 * 32, 48 * 16})));
  EXPECT_FALSE(AreWindowPanels(Panelled({96, 16, 3, 2}, 24, {24 * 96, 24, 24 * 32, 24 * 16})));
  EXPECT_FALSE(AreWindowPanels(Panelled({96, 16}, 48, {48 * 16, 48})));
  EXPECT_FALSE(cpu::WindowPanelsOf(cpu::PlainDesc(EP_TYPE_FLOAT, std::vector<int64_t>{96, 16, 3, 2})));
}

TEST(PanelWindow, LargeWindowsAreLeftToOneDnn) {
  const WindowCase large = {{1, 16, 4000}, {64, 16, 3900}, {1}, {1}, {0, 1}};
  EXPECT_FALSE(cpu::PanelWindow::Of(large.Resolved()));
  const WindowCase small = {{1, 16, 110}, {64, 16, 10}, {1}, {1}, {0, 0}};
  EXPECT_TRUE(cpu::PanelWindow::Of(small.Resolved()));
}

TEST(PanelWindow, ShortRunsAreNotWorthIt) {
  EXPECT_TRUE(cpu::HasLongRuns(WindowCase{{1, 16, 9, 9}, {8, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}.Resolved()));
  EXPECT_FALSE(cpu::HasLongRuns(WindowCase{{1, 3, 9, 9}, {8, 3, 7, 7}, {1, 1}, {1, 1}, {1, 1, 1, 1}}.Resolved()));
  EXPECT_TRUE(cpu::HasLongRuns(WindowCase{{1, 3, 9, 9}, {8, 3, 7, 7}, {1, 1}, {1, 1}, {1, 0, 1, 0}}.Resolved()));
  EXPECT_FALSE(cpu::HasLongRuns(WindowCase{{1, 3, 9, 29}, {8, 3, 7, 7}, {1, 1}, {1, 2}, {1, 0, 1, 0}}.Resolved()));
}

TEST(PanelWindow, FewWindowsWantWidePanels) {
  const WindowCase few = {{1, 16, 14, 14}, {100, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const WindowCase many = {{1, 16, 40, 40}, {100, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const std::optional<MemoryDesc> narrow = Panelled({100, 16, 3, 3}, 32, {32 * 144, 32, 32 * 48, 32 * 16});
  ASSERT_TRUE(narrow);
  const std::optional<MemoryDesc> wide = cpu::WidePanels(*narrow, few.Resolved());
  ASSERT_TRUE(wide);
  const auto panels = cpu::WindowPanelsOf(*wide);
  ASSERT_TRUE(panels);
  EXPECT_EQ(panels->width, 64);
  EXPECT_EQ(wide->get_size(), 128u * 144 * sizeof(float)) << "filters are padded to whole panels";
  EXPECT_FALSE(cpu::WidePanels(*wide, few.Resolved())) << "they are wide";
  EXPECT_FALSE(cpu::WidePanels(*narrow, many.Resolved())) << "oneDNN multiplies many, and chose";
  const WindowCase thin = {{1, 16, 14, 14}, {40, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const std::optional<MemoryDesc> of_thin = Panelled({40, 16, 3, 3}, 32, {32 * 144, 32, 32 * 48, 32 * 16});
  EXPECT_TRUE(of_thin && !cpu::WidePanels(*of_thin, thin.Resolved()));
}

}  // namespace
}  // namespace epiphyte::test
