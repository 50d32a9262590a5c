// Windows of convolutions and pools: ONNX's rules for sizes, padding and taps, and invalid attributes.
#include <gmock/gmock.h>

#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "epiphyte/kit/shape/pool.hpp"
#include "epiphyte/kit/shape/window.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::AutoPad;
using kit::Dims;
using kit::ShapeText;
using kit::Window;
using kit::WindowAttributes;
using kit::ir::Attribute;
using ::testing::HasSubstr;

WindowAttributes Attributes(std::vector<int64_t> strides, std::vector<int64_t> pads,
                            std::vector<int64_t> dilations = {}, AutoPad auto_pad = AutoPad::kNotSet) {
  WindowAttributes attributes;
  attributes.auto_pad = auto_pad;
  attributes.strides = std::move(strides);
  attributes.pads = std::move(pads);
  attributes.dilations = std::move(dilations);
  return attributes;
}

TEST(Window, IsReadFromANode) {
  kit::ir::Node node;
  node.attributes = {Attribute::String("auto_pad", "SAME_LOWER"), Attribute::Ints("kernel_shape", {3, 5}),
                     Attribute::Ints("strides", {2, 1})};
  const WindowAttributes attributes = WindowAttributes::Read(node);
  EXPECT_EQ(attributes.auto_pad, AutoPad::kSameLower);
  EXPECT_EQ(attributes.kernel, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(attributes.strides, (std::vector<int64_t>{2, 1}));
  EXPECT_TRUE(attributes.pads.empty());
}

TEST(Window, SizesFollowStridesPadsAndDilations) {
  const Window window = Window::Resolve(Attributes({2, 1}, {1, 0, 1, 2}, {1, 3}), Dims{3, 2}, Dims{7, 5});
  EXPECT_EQ(ShapeText(window.output), "[4,4]");  // (7 + 2 - 3) / 2 + 1 and 5 + 2 - 4 + 1
  EXPECT_EQ(ShapeText(window.OutputDims(2, 8)), "[2,8,4,4]");
}

TEST(Window, CeilModeAddsAWindowUnlessItWouldStartInThePadding) {
  EXPECT_EQ(ShapeText(Window::Resolve(Attributes({2}, {0, 0}), Dims{2}, Dims{5}, true).output), "[3]");
  EXPECT_EQ(ShapeText(Window::Resolve(Attributes({2}, {0, 0}), Dims{2}, Dims{5}, false).output), "[2]");
  EXPECT_EQ(ShapeText(Window::Resolve(Attributes({2}, {0, 1}), Dims{1}, Dims{3}, true).output), "[2]");
}

TEST(Window, SamePaddingGivesOneOutputAStrideAndSaysWhereTheOddOneGoes) {
  const Window upper = Window::Resolve(Attributes({2}, {}, {}, AutoPad::kSameUpper), Dims{4}, Dims{7});
  EXPECT_EQ(ShapeText(upper.output), "[4]");
  EXPECT_EQ(ShapeText(upper.pads_begin) + ShapeText(upper.pads_end), "[1][2]");
  const Window lower = Window::Resolve(Attributes({2}, {}, {}, AutoPad::kSameLower), Dims{4}, Dims{7});
  EXPECT_EQ(ShapeText(lower.pads_begin) + ShapeText(lower.pads_end), "[2][1]");
  const Window valid = Window::Resolve(Attributes({2}, {9, 9}, {}, AutoPad::kValid), Dims{4}, Dims{7});
  EXPECT_EQ(ShapeText(valid.output), "[2]");
}

// Compares with counting the taps one by one.
TEST(Window, TapsInsideAreThoseThatReadTheInput) {
  for (const int64_t stride : {1, 2, 5})
    for (const int64_t dilation : {1, 2, 3})
      for (const int64_t begin : {-2, 0, 1, 4})
        for (const int64_t end : {-1, 0, 3})
          for (const int64_t size : {5, 9}) {
            const WindowAttributes attributes = Attributes({stride}, {begin, end}, {dilation});
            if (size + begin + end < 2 * dilation + 1) continue;
            for (const bool ceil_mode : {false, true}) {
              const Window window = Window::Resolve(attributes, Dims{3}, Dims{size}, ceil_mode);
              int64_t furthest = INT64_MIN;
              for (int64_t at = 0; at < window.output[0]; ++at) {
                int64_t count = 0, first = -1, padded = 0;
                for (int64_t tap = 0; tap < 3; ++tap) {
                  const int64_t place = at * stride - begin + tap * dilation;
                  furthest = std::max(furthest, place);
                  padded += place < size + end;
                  if (place < 0 || place >= size) continue;
                  if (count++ == 0) first = place;
                }
                const kit::Taps taps = window.TapsInside(0, at, size);
                ASSERT_EQ(taps.count, count) << stride << dilation << begin << end << size << at;
                if (count != 0) {
                  ASSERT_EQ(taps.first, first);
                }
                ASSERT_EQ(window.TapsInPadded(0, at, size), padded);
              }
              ASSERT_EQ(window.PadsEndRead(0, size), furthest - size + 1);
            }
          }
}

TEST(Window, AttributesThatMakeNoSenseAreNamed) {
  const auto resolve = [](const WindowAttributes& attributes, Dims kernel = {3}, Dims input = {8}) {
    return Complaint([&] { Window::Resolve(attributes, kernel, input); });
  };
  EXPECT_EQ(resolve(Attributes({0}, {})), "strides has an entry of 0; 1 to 2147483648 expected");
  EXPECT_EQ(resolve(Attributes({1, 1}, {})), "strides has 2 entries; 1 expected for this input");
  EXPECT_EQ(resolve(Attributes({}, {1})), "pads has 1 entries; 2 expected for this input");
  EXPECT_EQ(resolve(Attributes({}, {}, {-1})), "dilations has an entry of -1; 1 to 2147483648 expected");
  EXPECT_EQ(resolve(Attributes({}, {}), {9}),
            "a kernel of extent 9 does not fit into 8 elements with 0 and 0 of padding");
  EXPECT_EQ(resolve(Attributes({}, {}), {3, 3}), "a kernel of rank 2 for 1 spatial dimensions");
  EXPECT_THAT(resolve(Attributes({}, {}), {INT64_MAX}), HasSubstr("does not fit into 8 elements"));
  EXPECT_THAT(resolve(Attributes({}, {}, {int64_t{1} << 31}), {INT64_MAX}), HasSubstr("a product below 2^63"));
  EXPECT_THAT(resolve(Attributes({}, {}), {3}, {-1}), HasSubstr("dimensions of at least 0 expected"));
  EXPECT_EQ(Complaint([] { kit::AutoPadOf("SAME_MIDDLE"); }),
            "auto_pad is 'SAME_MIDDLE'; NOTSET, SAME_UPPER, SAME_LOWER or VALID expected");
  EXPECT_LT(Complaint([] { kit::AutoPadOf(std::string(1 << 20, 'x')); }).size(), 200u);
}

TEST(Window, AKernelOfWeightsMayOnlyBeRepeated) {
  WindowAttributes attributes;
  attributes.kernel = {3, 3};
  EXPECT_EQ(Complaint([&] {
              Window::OfKernel(attributes, Dims{3, 5}, Dims{8, 8});
            }),
            "kernel_shape is [3,3], the weights have [3,5]");
  EXPECT_EQ(Complaint([&] {
              Window::OfKernel({}, Dims{3, 0}, Dims{8, 8});
            }),
            "the weights have a kernel of [3,0]; at least one element in each dimension expected");
}

TEST(Convolution, ShapesOfGroupsFitTogether) {
  const kit::ConvolutionShape shape(Attributes({2, 2}, {1, 1, 1, 1}), Dims{2, 6, 9, 9}, Dims{4, 3, 3, 3}, 2);
  EXPECT_EQ(ShapeText(shape.y), "[2,4,5,5]");
  EXPECT_EQ(shape.filters_per_group(), 2);
  EXPECT_EQ(shape.in_per_group(), 3);
  EXPECT_EQ(shape.taps(), 9);
  EXPECT_EQ(shape.in_positions(), 81);
  EXPECT_EQ(shape.positions(), 25);
}

TEST(Convolution, ShapesThatDoNotFitAreRefused) {
  const auto complaint = [](Dims x, Dims w, int64_t group) {
    return Complaint([&] { kit::ConvolutionShape({}, x, w, group); });
  };
  EXPECT_EQ(complaint({1, 3, 9}, {4, 3, 3, 3}, 1),
            "input of rank 3 and weights of rank 4; equal ranks of at least 3 expected");
  EXPECT_EQ(complaint({1, 4, 9, 9}, {4, 3, 3, 3}, 1),
            "4 input channels, 1 groups and weights for 4 x 3 channels don't fit together");
  EXPECT_EQ(complaint({1, 4, 9, 9}, {3, 2, 3, 3}, 2),
            "4 input channels, 2 groups and weights for 3 x 2 channels don't fit together");
  EXPECT_EQ(complaint({1, 4, 9, 9}, {4, 4, 3, 3}, 0), "group is 0; at least 1 expected");
  EXPECT_THAT(complaint({1, 4, 9, 9}, {4, 2, 3, 3}, int64_t{1} << 62), HasSubstr("don't fit"));
  EXPECT_THAT(complaint({1, -1, 9, 9}, {4, 2, 3, 3}, 1), HasSubstr("dimensions of at least 0"));
}

TEST(Convolution, TransposedOnesGiveBackWhatForwardOnesTook) {
  // For each forward convolution, the transposed one has its input's size. `output_padding` makes up for the remainder.
  for (const int64_t size : {7, 9, 12})
    for (const int64_t kernel : {1, 3, 4})
      for (const int64_t stride : {1, 2, 3})
        for (const int64_t pad : {0, 1}) {
          const WindowAttributes window = Attributes({stride}, {pad, pad});
          const kit::ConvolutionShape forward(window, Dims{1, 2, size}, Dims{5, 2, kernel}, 1);
          kit::TransposedConvolutionAttributes attributes;
          attributes.window = window;
          attributes.output_padding = {(size + 2 * pad - kernel) % stride};
          const kit::TransposedConvolutionShape back(attributes, forward.y, Dims{5, 2, kernel});
          EXPECT_EQ(ShapeText(back.y), ShapeText(forward.x)) << size << kernel << stride << pad;
          EXPECT_EQ(back.pads_begin[0], pad);
        }
}

TEST(Convolution, TransposedOnesTakeTheOutputsShapeFromTheNode) {
  kit::TransposedConvolutionAttributes attributes;
  attributes.window = Attributes({2}, {});
  attributes.output_shape = {1, 2, 10};  // some exporters write batch and channels, too
  const kit::TransposedConvolutionShape whole(attributes, Dims{1, 5, 5}, Dims{5, 2, 4});
  EXPECT_EQ(ShapeText(whole.y), "[1,2,10]");
  EXPECT_EQ(whole.pads_begin[0] + whole.pads_end[0], 2);
  attributes.output_shape = {10};
  EXPECT_EQ(ShapeText(kit::TransposedConvolutionShape(attributes, Dims{1, 5, 5}, Dims{5, 2, 4}).y), "[1,2,10]");
  attributes.output_shape = {-1};
  EXPECT_THAT(Complaint([&] {
                kit::TransposedConvolutionShape(attributes, Dims{1, 5, 5}, Dims{5, 2, 4});
              }),
              HasSubstr("output_shape has an entry of -1"));
}

TEST(Convolution, TransposedOnesRefuseWhatLeavesLessThanNothing) {
  kit::TransposedConvolutionAttributes attributes;
  attributes.window = Attributes({1}, {4, 4});
  EXPECT_EQ(Complaint([&] {
              kit::TransposedConvolutionShape(attributes, Dims{1, 5, 3}, Dims{5, 2, 2});
            }),
            "3 elements and a kernel of extent 2 leave an output of -4");
  attributes.group = 3;
  EXPECT_EQ(Complaint([&] {
              kit::TransposedConvolutionShape(attributes, Dims{1, 5, 3}, Dims{5, 2, 2});
            }),
            "5 input channels, 3 groups and weights for 5 input channels don't fit together");
}

TEST(Pool, AGlobalOneSeesTheWholeInput) {
  const auto attributes = kit::PoolAttributes::Read(kit::ir::Node(), true);
  EXPECT_EQ(ShapeText(attributes.Resolve(Dims{2, 3, 7, 9}).OutputDims(2, 3)), "[2,3,1,1]");
  EXPECT_EQ(Complaint([&] { attributes.Resolve(Dims{2, 3}); }), "input of rank 2; at least 3 expected");
  EXPECT_EQ(Complaint([] { kit::PoolAttributes::Read(kit::ir::Node(), false); }), "kernel_shape is missing");
}

TEST(Pool, IndicesAreInTheOrderThatIsAskedFor) {
  kit::ir::Node node;
  node.attributes = {Attribute::Ints("kernel_shape", {2, 2}), Attribute::Int("storage_order", 1)};
  const auto attributes = kit::PoolAttributes::Read(node, false);
  EXPECT_EQ(attributes.StoredIndex(1, Dims{1, 1, 3, 4}), 3);  // row 0, column 1
  EXPECT_EQ(attributes.StoredIndex(4, Dims{1, 1, 3, 4}), 1);  // row 1, column 0
  EXPECT_EQ(kit::PoolAttributes().StoredIndex(4, Dims{1, 1, 3, 4}), 4);
}

}  // namespace
}  // namespace epiphyte::test
