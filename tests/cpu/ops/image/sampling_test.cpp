// Operators that read between elements or pick regions: Resize, GridSample, RoiAlign, NonMaxSuppression, MaxUnpool …
// Expected values of Resize and GridSample are computed by hand from their definitions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

OpRunner Resize(int64_t version, const Shape& dims, const std::vector<float>& values) {
  OpRunner resize("Resize", version);
  resize.Input<float>(dims, values).NoInput();
  return resize;
}

TEST(Resize, NearestDoublesRowsAndColumns) {
  OpRunner resize = Resize(19, {1, 1, 2, 2}, {1, 2, 3, 4});
  resize.Attribute("coordinate_transformation_mode", "asymmetric").Attribute("nearest_mode", "floor");
  resize.Input<float>({4}, {1, 1, 2, 2}).Run();
  EXPECT_THAT(resize.Output<float>(0), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4));
}

TEST(Resize, ScalesThatNoFloatHoldsDoNotMovePositions) {
  OpRunner resize = Resize(13, {6}, {0, 1, 2, 3, 4, 5});
  resize.Attribute("coordinate_transformation_mode", "asymmetric").Attribute("nearest_mode", "floor");
  resize.NoInput().Input<int64_t>({1}, {14}).Run();
  // The scale 14/6 is rounded as a float, but output 7 must read exactly position 3.
  EXPECT_THAT(resize.Output<float>(0), ElementsAre(0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5));
}

TEST(Resize, AntialiasSeesEveryInput) {
  // The filter is a triangle with the weights 1 3 | 5 7 7 5 | 3 1; the input lies between the bars. Weights outside of
  // it are applied to the border elements, or are excluded.
  for (const auto& [exclude, expected] : {std::pair(0, 8 * 9.0f / 32), std::pair(1, 8 * 5.0f / 24)}) {
    OpRunner resize = Resize(18, {4}, {0, 0, 0, 8});
    resize.Attribute("mode", "linear").Attribute("antialias", 1).Attribute("exclude_outside", exclude);
    resize.NoInput().Input<int64_t>({1}, {1}).Run();
    EXPECT_THAT(resize.Output<float>(0), ElementsAre(FloatNear(expected, 1e-5f)));
  }
}

// Linear interpolation has an implementation of its own for images of floats. Doubles use the general one.
TEST(Resize, LinearFloatsGiveTheNumbersOfDoubles) {
  for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"}) {
    for (const Shape& sizes : {Shape{2, 3, 31, 45}, Shape{2, 3, 5, 45}, Shape{2, 3, 70, 9}, Shape{2, 3, 4, 6},
                               Shape{2, 3, 1, 1}, Shape{2, 3, 100, 20}}) {
      SCOPED_TRACE(testing::Message() << coordinates << " to " << testing::PrintToString(sizes));
      const Shape dims = {2, 3, 9, 20};
      std::vector<float> x(2 * 3 * 9 * 20);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 8;
      OpRunner floats("Resize", 19), doubles("Resize", 19);
      for (OpRunner* runner : {&floats, &doubles})
        runner->Attribute("mode", "linear").Attribute("coordinate_transformation_mode", coordinates);
      floats.Input<float>(dims, x).NoInput().NoInput().Input<int64_t>({4}, sizes).Run();
      doubles.Input<double>(dims, std::vector<double>(x.begin(), x.end())).NoInput().NoInput();
      doubles.Input<int64_t>({4}, sizes).Run();
      const std::vector<float> found = floats.Output<float>(0);
      const std::vector<double> expected = doubles.Output<double>(0);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
    }
  }
}

TEST(Resize, KeepsTheAspectRatio) {
  for (const auto& [policy, expected] :
       {std::pair<std::string, Shape>{"not_larger", {6, 3}}, {"not_smaller", {8, 4}}}) {
    OpRunner resize = Resize(18, {2, 4, 2}, Counting<float>(16));
    resize.Attribute("keep_aspect_ratio_policy", policy).Attribute("axes", std::vector<int64_t>{1, 2});
    resize.NoInput().Input<int64_t>({2}, {8, 3}).Run();
    EXPECT_EQ(resize.Dims(0), (Shape{2, expected[0], expected[1]}));
  }
}

TEST(Resize, SymmetricHalfPixelCentresWhatIsCutOff) {
  OpRunner resize = Resize(19, {4}, {0, 1, 2, 3});
  resize.Attribute("mode", "linear").Attribute("coordinate_transformation_mode", "half_pixel_symmetric");
  resize.Input<float>({1}, {0.6f}).Run();
  // The positions lie around the centre 1.5, at 1.5 ± 0.5 / 0.6.
  EXPECT_THAT(resize.Output<float>(0), Pointwise(FloatNear(1e-5f), {1.5f - 0.5f / 0.6f, 1.5f + 0.5f / 0.6f}));
}

TEST(Resize, NearestMovesStrings) {
  OpRunner resize("Resize", 19);
  resize.Input<std::string>({2}, {"a", "b"}).NoInput().Input<float>({1}, {2}).Run();
  EXPECT_THAT(resize.Output<std::string>(0), ElementsAre("a", "a", "b", "b"));
}

TEST(Resize, IntegersOfAConstantImageStayConstant) {
  OpRunner resize("Resize", 13);
  resize.Attribute("mode", "linear").Input<uint8_t>({3, 3}, std::vector<uint8_t>(9, 100)).NoInput().NoInput();
  resize.Input<int64_t>({2}, {7, 5}).Run();
  EXPECT_THAT(resize.Output<uint8_t>(0), Each(100));
}

TEST(Resize, RefusesImpossibleSizes) {
  const auto failure = [](float scale) {
    OpRunner resize = Resize(13, {2}, {1, 2});
    resize.Input<float>({1}, {scale});
    return Failure(resize);
  };
  for (float scale : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), 1e30f})
    EXPECT_THAT(failure(scale), HasSubstr("scale")) << scale;
  OpRunner sizes = Resize(13, {2}, {1, 2});
  sizes.NoInput().Input<int64_t>({1}, {-3});
  EXPECT_THAT(Failure(sizes), HasSubstr("at least 0"));
  OpRunner empty = Resize(13, {0}, {});
  empty.NoInput().Input<int64_t>({1}, {3});
  EXPECT_THAT(Failure(empty), HasSubstr("elements expected"));
  OpRunner none = Resize(13, {2}, {1, 2});
  EXPECT_THAT(Failure(none), HasSubstr("0 scales"));
}

TEST(Resize, TakesAnyRegion) {
  const float infinity = std::numeric_limits<float>::infinity();
  OpRunner resize("Resize", 13);
  resize.Attribute("coordinate_transformation_mode", "tf_crop_and_resize").Attribute("mode", "linear");
  resize.Attribute("extrapolation_value", 9.0f).Input<float>({2}, {1, 2});
  resize.Input<float>({2}, {-infinity, infinity}).NoInput().Input<int64_t>({1}, {2}).Run();
  EXPECT_THAT(resize.Output<float>(0), ElementsAre(9, 9));
}

TEST(Upsample, FirstVersionHasItsScalesAsAttributes) {
  OpRunner upsample("Upsample", 1);
  upsample.Attribute("height_scale", 1.0f).Attribute("width_scale", 2.0f).Input<float>({1, 1, 1, 2}, {1, 2}).Run();
  EXPECT_THAT(upsample.Output<float>(0), ElementsAre(1, 1, 2, 2));
}

TEST(GridSample, PositionsThatAreNoNumbersAreOutside) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const std::string mode : {"linear", "nearest", "cubic"}) {
    OpRunner zeros("GridSample", 20);
    zeros.Attribute("mode", mode).Input<float>({1, 1, 2, 2}, {1, 2, 3, 4});
    zeros.Input<float>({1, 1, 3, 2}, {nan, 0, infinity, 0, 1e30f, -infinity}).Run();
    EXPECT_THAT(zeros.Output<float>(0), ElementsAre(0, 0, 0)) << mode;
    for (const std::string padding : {"border", "reflection"}) {
      OpRunner inside("GridSample", 20);
      inside.Attribute("mode", mode).Attribute("padding_mode", padding).Input<float>({1, 1, 2, 2}, {5, 5, 5, 5});
      inside.Input<float>({1, 1, 3, 2}, {nan, 0, infinity, 0, 1e30f, -infinity}).Run();
      EXPECT_THAT(inside.Output<float>(0), Each(FloatNear(5, 1e-5f))) << mode << padding;
    }
  }
}

TEST(GridSample, ImagesOfFloatsGiveTheNumbersOfDoubles) {
  const Shape dims = {2, 3, 6, 5}, places = {2, 9, 40, 2};
  std::vector<float> x(2 * 3 * 6 * 5), grid(2 * 9 * 40 * 2);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 8;
  for (size_t i = 0; i < grid.size(); ++i) grid[i] = static_cast<float>(static_cast<int>(i * 53 % 257) - 128) / 90;
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (int align : {0, 1}) {
      OpRunner floats("GridSample", 20), doubles("GridSample", 20);
      for (OpRunner* runner : {&floats, &doubles})
        runner->Attribute("padding_mode", padding).Attribute("align_corners", align);
      floats.Input<float>(dims, x).Input<float>(places, grid).Run();
      doubles.Input<double>(dims, std::vector<double>(x.begin(), x.end())).Input<float>(places, grid).Run();
      const std::vector<float> found = floats.Output<float>(0);
      const std::vector<double> expected = doubles.Output<double>(0);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-5) << padding << ", align_corners " << align << ", element " << i;
    }
  }
}

TEST(GridSample, SamplesALine) {
  OpRunner line("GridSample", 20);
  line.Attribute("align_corners", 1).Input<float>({1, 1, 3}, {0, 10, 20}).Input<float>({1, 3, 1}, {-1, 0.5f, 1}).Run();
  EXPECT_THAT(line.Output<float>(0), ElementsAre(0, 15, 20));
}

TEST(GridSample, NearestTakesTheEvenOneOfTwoNeighboursInEveryRank) {
  OpRunner line("GridSample", 20);
  line.Attribute("mode", "nearest").Attribute("align_corners", 1).Input<float>({1, 1, 3}, {1, 2, 3});
  line.Input<float>({1, 2, 1}, {-0.5f, 0.5f}).Run();
  EXPECT_THAT(line.Output<float>(0), ElementsAre(1, 3));
  OpRunner volume("GridSample", 20);
  volume.Attribute("mode", "nearest").Attribute("align_corners", 1).Input<float>({1, 1, 3, 1, 1}, {1, 2, 3});
  volume.Input<float>({1, 1, 1, 2, 3}, {0, 0, -0.5f, 0, 0, 0.5f}).Run();
  EXPECT_THAT(volume.Output<float>(0), ElementsAre(1, 3));
}

TEST(GridSample, RefusesAGridThatDoesNotFit) {
  OpRunner grid("GridSample", 20);
  grid.Input<float>({1, 1, 2, 2}, {1, 2, 3, 4}).Input<float>({1, 1, 1, 3}, {0, 0, 0});
  EXPECT_THAT(Failure(grid), HasSubstr("[1,1,1,3]"));
}

TEST(RoiAlign, RefusesForeignBatchesAndEndlessBins) {
  OpRunner batch("RoiAlign", 16);
  batch.Input<float>({1, 1, 2, 2}, {1, 2, 3, 4}).Input<float>({1, 4}, {0, 0, 1, 1}).Input<int64_t>({1}, {1});
  EXPECT_THAT(Failure(batch), HasSubstr("index 1"));
  OpRunner bins("RoiAlign", 16);
  bins.Input<float>({1, 1, 2, 2}, {1, 2, 3, 4}).Input<float>({1, 4}, {0, 0, 1e30f, 1}).Input<int64_t>({1}, {0});
  EXPECT_THAT(Failure(bins), HasSubstr("bins"));
}

TEST(NonMaxSuppression, SkipsScoresThatAreNoNumbers) {
  OpRunner nms("NonMaxSuppression", 11);
  nms.Input<float>({1, 3, 4}, {0, 0, 1, 1, 5, 5, 6, 6, 0, 0, 1, 1});
  nms.Input<float>({1, 1, 3}, {0.5f, std::numeric_limits<float>::quiet_NaN(), 0.9f}).Input<int64_t>({}, {INT64_MAX});
  nms.Input<float>({}, {0.5f}).Run();
  EXPECT_THAT(nms.Output<int64_t>(0), ElementsAre(0, 0, 2));
}

TEST(NonMaxSuppression, SelectsNothingWithoutAMaximum) {
  OpRunner nms("NonMaxSuppression", 11);
  nms.Input<float>({1, 1, 4}, {0, 0, 1, 1}).Input<float>({1, 1, 1}, {0.5f}).Run();
  EXPECT_EQ(nms.Dims(0), (Shape{0, 3}));
}

TEST(NonMaxSuppression, TakesEmptyThresholdsAsLeftOut) {
  OpRunner nms("NonMaxSuppression", 11);
  nms.Input<float>({1, 2, 4}, {0, 0, 1, 1, 5, 5, 6, 6}).Input<float>({1, 1, 2}, {-0.5f, 0.9f}).Input<int64_t>({}, {2});
  nms.Input<float>({0}, {}).Input<float>({0}, {}).Run();
  EXPECT_THAT(nms.Output<int64_t>(0), ElementsAre(0, 0, 1, 0, 0, 0));
}

TEST(MaxUnpool, RefusesIndicesOutside) {
  OpRunner unpool("MaxUnpool", 11);
  unpool.Attribute("kernel_shape", std::vector<int64_t>{2}).Attribute("strides", std::vector<int64_t>{2});
  unpool.Input<float>({1, 1, 2}, {1, 2}).Input<int64_t>({1, 1, 2}, {0, 4});
  EXPECT_THAT(Failure(unpool), HasSubstr("[0, 3]"));
}

TEST(Col2Im, AddsWhereBlocksOverlap) {
  OpRunner fold("Col2Im", 18);
  fold.Input<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30}).Input<int64_t>({1}, {4}).Input<int64_t>({1}, {2}).Run();
  EXPECT_THAT(fold.Output<float>(0), ElementsAre(1, 12, 23, 30));
  OpRunner bad("Col2Im", 18);
  bad.Input<float>({1, 2, 4}, Counting<float>(8)).Input<int64_t>({1}, {4}).Input<int64_t>({1}, {2});
  EXPECT_THAT(Failure(bad), HasSubstr("[N, multiple of 2, 3]"));
}

// Offsets that leave the image, both kinds of groups, a mask, and a NaN that must affect only the outputs that read it.
template <typename T>
void ExpectDeformedLikePlainLoops(double bound) {
  constexpr int64_t kN = 2, kC = 4, kH = 7, kW = 9, kM = 6, kK = 3, kGroups = 2, kOffsetGroups = 2, kOH = 7, kOW = 9;
  const auto numbers = [](int64_t count, int seed, double scale) {
    std::vector<T> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(((i * 37 + seed) % 101 - 50) / 50.0 * scale));
    return values;
  };
  std::vector<T> x = numbers(kN * kC * kH * kW, 3, 1);
  x[0] = static_cast<T>(NAN);
  const std::vector<T> w = numbers(kM * kC / kGroups * kK * kK, 5, 1), b = numbers(kM, 7, 1);
  const std::vector<T> offset = numbers(kN * kOffsetGroups * 2 * kK * kK * kOH * kOW, 11, 3);
  const std::vector<T> mask = numbers(kN * kOffsetGroups * kK * kK * kOH * kOW, 13, 1);
  OpRunner conv("DeformConv", 19);
  conv.Attribute("group", kGroups)
      .Attribute("offset_group", kOffsetGroups)
      .Attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
  conv.Input<T>({kN, kC, kH, kW}, x).template Input<T>({kM, kC / kGroups, kK, kK}, w);
  conv.Input<T>({kN, kOffsetGroups * 2 * kK * kK, kOH, kOW}, offset).template Input<T>({kM}, b);
  conv.Input<T>({kN, kOffsetGroups * kK * kK, kOH, kOW}, mask).Run();
  const std::vector<T> y = conv.Output<T>(0);
  const auto at = [](const std::vector<T>& values, int64_t i) {
    return static_cast<double>(values[static_cast<size_t>(i)]);
  };
  for (int64_t i = 0; i < kN * kM * kOH * kOW; ++i) {
    const int64_t n = i / (kM * kOH * kOW), m = i / (kOH * kOW) % kM, oy = i / kOW % kOH, ox = i % kOW;
    double sum = at(b, m);
    for (int64_t c = 0; c < kC / kGroups; ++c) {
      const int64_t channel = m / (kM / kGroups) * (kC / kGroups) + c, group = channel / (kC / kOffsetGroups);
      for (int64_t tap = 0; tap < kK * kK; ++tap) {
        const int64_t place = ((n * kOffsetGroups + group) * kK * kK + tap) * kOH * kOW + oy * kOW + ox;
        const int64_t shift = ((n * kOffsetGroups + group) * kK * kK + tap) * 2 * kOH * kOW + oy * kOW + ox;
        const double py = static_cast<double>(oy - 1 + tap / kK) + at(offset, shift);
        const double px = static_cast<double>(ox - 1 + tap % kK) + at(offset, shift + kOH * kOW);
        double value = 0;
        for (int64_t r = 0; r < kH; ++r)
          for (int64_t q = 0; q < kW; ++q) {
            const double weight = std::max(0.0, 1 - std::fabs(py - static_cast<double>(r))) *
                                  std::max(0.0, 1 - std::fabs(px - static_cast<double>(q)));
            if (weight != 0) value += weight * at(x, ((n * kC + channel) * kH + r) * kW + q);
          }
        sum += at(w, (m * kC / kGroups + c) * kK * kK + tap) * value * at(mask, place);
      }
    }
    if (std::isnan(sum)) {
      EXPECT_TRUE(std::isnan(y[static_cast<size_t>(i)])) << i;
    } else {
      // A NaN with weight 0 may or may not affect the sum.
      const double found = static_cast<double>(y[static_cast<size_t>(i)]);
      ASSERT_TRUE(std::isnan(found) || std::fabs(found - sum) <= bound) << i << ": " << found << ", " << sum;
    }
  }
}
TEST(DeformConv, AgreesWithPlainLoopsOverTheImage) {
  ExpectDeformedLikePlainLoops<float>(1e-4);
  ExpectDeformedLikePlainLoops<double>(1e-12);
}

TEST(DeformConv, WithoutOffsetsIsAConvolution) {
  OpRunner conv("DeformConv", 19);
  conv.Input<float>({1, 1, 3, 3}, Counting<float>(9)).Input<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  conv.Input<float>({1, 8, 2, 2}, std::vector<float>(32, 0.0f)).Input<float>({1}, {100}).Run();
  EXPECT_THAT(conv.Output<float>(0), ElementsAre(127, 137, 157, 167));
}

}  // namespace
}  // namespace epiphyte::test
