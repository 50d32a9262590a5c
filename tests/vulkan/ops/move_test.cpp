// Operators that move elements and report shapes: values known to the host, combined moves, and indices out of range.

#include "tests/vulkan/ops/operator_harness.h"

namespace epiphyte::test {
namespace {

class Move : public OperatorTest {};

// --- Indices out of range: kernels never access memory outside of a tensor. They read 0 for such an index and write
// nothing.

constexpr int64_t kHuge = int64_t{1} << 40;

TEST_F(Move, IndicesThatLeadNowhereGatherZeros) {
  const std::vector<ValuePtr> y =
      RunVulkan("g (float[A,B] x, int64[C] i) => (float[D,E] y) { y = Gather(x, i) }",
                {Floats({2, 2}, {1, 2, 3, 4}), Int64s({6}, {1, 2, -3, kHuge, -kHuge, INT64_MIN})});
  EXPECT_EQ(FloatsOf(*y[0]), (std::vector<float>{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(Move, IndicesOfInt32ThatLeadNowhereGatherZeros) {
  const std::vector<ValuePtr> y =
      RunVulkan("g (float[A] x, int32[C] i) => (float[D] y) { y = GatherElements(x, i) }",
                {Floats({3}, {1, 2, 3}), Numbers(DataType::kInt32, {4}, {-3, 3, -4, -2147483648.0})});
  EXPECT_EQ(FloatsOf(*y[0]), (std::vector<float>{1, 0, 0, 0}));
}

TEST_F(Move, TuplesWithOneNumberThatLeadsNowhereGatherZeros) {
  const std::vector<ValuePtr> y = RunVulkan("g (float[A,B] x, int64[C,D] i) => (float[E] y) { y = GatherND(x, i) }",
                                            {Floats({2, 2}, {1, 2, 3, 4}), Int64s({4, 2}, {1, 1, 2, 0, 0, 2, -1, -2})});
  EXPECT_EQ(FloatsOf(*y[0]), (std::vector<float>{4, 0, 0, 3}));
}

TEST_F(Move, UpdatesThatLeadNowhereChangeNothing) {
  const std::vector<ValuePtr> y =
      RunVulkan(R"(g (float[A] x, int64[B] i, float[B] u, int64[C,D] j) => (float[E] y, float[F] z) {
                     y = ScatterElements(x, i, u) z = ScatterND<reduction="add">(x, j, u) })",
                {Floats({3}, {1, 2, 3}), Int64s({3}, {3, -1, kHuge}), Floats({3}, {7, 8, 9}),
                 Int64s({3, 1}, {-4, 1, INT64_MIN})});
  EXPECT_EQ(FloatsOf(*y[0]), (std::vector<float>{1, 2, 8}));
  EXPECT_EQ(FloatsOf(*y[1]), (std::vector<float>{1, 10, 3}));
}

TEST_F(Move, LengthsBeyondASequenceAreItsLength) {
  const std::vector<ValuePtr> y = RunVulkan(
      "g (float[A,B] x, int64[A] n) => (float[A,B] y) { y = ReverseSequence<batch_axis=0, time_axis=1>(x, n) }",
      {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Int64s({3}, {kHuge, -1, 2})});
  EXPECT_EQ(FloatsOf(*y[0]), (std::vector<float>{2, 1, 3, 4, 6, 5}));
}

// Outputs without elements may have dimensions of 2^50. A table of positions for them would take more memory than there
// is.
TEST_F(Move, ResultsOfNothingMayHaveLongDimensions) {
  constexpr int64_t kLong = int64_t{1} << 50;
  const ValuePtr pads = Int64s({4}, {0, 0, 0, kLong - 1}), sizes = Int64s({2}, {0, kLong}),
                 times = Int64s({2}, {1, kLong});
  const std::pair<std::string, ValuePtr> nodes[] = {
      {"Pad(x, n)", pads},           {"Pad<mode=\"edge\">(x, n)", pads},
      {"CenterCropPad(x, n)", sizes}, {"Resize<mode=\"nearest\">(x, , , n)", sizes},
      {"Tile(x, n)", times},         {"Expand(x, n)", times}};
  for (const auto& [node, numbers] : nodes) {
    SCOPED_TRACE(node);
    const std::vector<ValuePtr> y =
        RunVulkan("g (float[A,B] x, int64[N] n) => (float[C,D] y) { y = " + node + " }", {Floats({0, 1}, {}), numbers});
    EXPECT_THAT(y[0]->dims(), ::testing::ElementsAre(0, kLong));
  }
}

TEST_F(Move, ConstantIndicesOutOfRangeAreErrors) {
  EXPECT_THAT(FailureOf([&] {
                RunVulkan("g (float[A] x) => (float[B] y) { i = Constant<value_ints=[0,5]>() y = Gather(x, i) }",
                          {Floats({3}, {1, 2, 3})});
              }),
              ::testing::AllOf(::testing::StartsWith("INVALID_ARGUMENT"), ::testing::HasSubstr("index 5 found")));
}

// --- Scatters that combine: every reduction in every type that has kernels, also with several updates of one element.

TEST_F(Move, ScatteredUpdatesAreCombinedInOrder) {
  const std::pair<DataType, const char*> types[] = {{DataType::kFloat, "float"}, {DataType::kFloat16, "float16"},
                                                    {DataType::kInt32, "int32"}, {DataType::kInt64, "int64"},
                                                    {DataType::kInt8, "int8"},   {DataType::kUint8, "uint8"}};
  for (const auto& [type, name] : types)
    for (const char* reduction : {"add", "mul", "max", "min"}) {
      const std::string t = name;
      const std::string attribute = std::string("reduction=\"") + reduction + "\"";
      SCOPED_TRACE(t + " " + reduction);
      ExpectLikeCpu("g (" + t + "[A,B] x, int64[C,D] i, " + t + "[C,D] u, int64[E,F] j, " + t + "[G,H] v) => (" + t +
                        "[I,J] y, " + t + "[K,L] z) { y = ScatterElements<axis=0, " + attribute +
                        ">(x, i, u) z = ScatterND<" + attribute + ">(x, j, v) }",
                    {Random(type, {4, 3}, 1), Int64s({3, 3}, {0, -1, 2, 1, 3, 2, 0, 0, 2}), Random(type, {3, 3}, 2),
                     Int64s({3, 1}, {2, -2, 2}), Random(type, {3, 3}, 3)});
    }
}

// Many updates go to one line: with shared memory the line is divided among invocations, without it is not.
TEST_F(Move, AScatterIntoOneLine) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 500; ++i) places.push_back(i * 37 % 101);
  for (const char* disabled : {"", "shared_memory"})
    ExpectLikeCpu(
        "g (float[A] x, int64[B] i, float[B] u) => (float[A] y) { y = ScatterElements<reduction=\"add\">(x, i, u) }",
        {Random(DataType::kFloat, {101}, 1), Int64s({500}, places), Random(DataType::kFloat, {500}, 2)},
        {.options = {{"disable", disabled}}});
}

TEST_F(Move, TypesWithoutAKernelForReductionsAreDeclined) {
  EXPECT_THAT(WhyNot("g (double[A] x, int64[B] i, double[B] u) => (double[A] y) "
                     "{ y = ScatterElements<reduction=\"add\">(x, i, u) }"),
              ::testing::HasSubstr("no kernel for double"));
}

// --- Shapes: the host computes them from the input's shape, whatever nodes follow.

TEST_F(Move, ShapesOfInputsAreComputedOnTheHost) {
  ExpectLikeCpu(R"(g (float[A,B,C] x) => (float[D,E] y, int64[F] s, int64 n) {
                     shape = Shape(x) zero = Constant<value_int=0>() first = Gather(shape, zero)
                     axes = Constant<value_ints=[0]>() one = Unsqueeze(first, axes)
                     rest = Constant<value_ints=[-1]>() wanted = Concat<axis=0>(one, rest) y = Reshape(x, wanted)
                     s = Shape<start=1, end=-1>(x) n = Size(x) })",
                {Random(DataType::kFloat, {3, 4, 5})});
}

TEST_F(Move, ADynamicSliceOfAnInputTakesItsBoundsFromTheHost) {
  const char* model = "g (float[A] x, int64[B] from, int64[B] to) => (float[C] y) { y = Slice(x, from, to) }";
  for (int64_t end : {3, 5})
    ExpectLikeCpu(model, {Random(DataType::kFloat, {6}), Int64s({1}, {1}), Int64s({1}, {end})});
}

TEST_F(Move, BoundsThatTheDeviceComputesAreDeclined) {
  EXPECT_THAT(WhyNot(R"(g (float[A] x, float[5000] b) => (float[C] y) {
                          large = Exp(b) one = ReduceMax<keepdims=1>(large) to = Cast<to=7>(one)
                          from = Constant<value_ints=[0]>() y = Slice(x, from, to) })"),
              ::testing::HasSubstr("computed on the device"));
}

TEST_F(Move, TensorsAreMadeOfParameters) {
  ExpectLikeCpu(
      R"(g (int64[A] shape, float start, float limit, float delta) => (int32[B,C] y, float[D] z, float[E,F] w) {
                     y = ConstantOfShape<value=int32[1]{7}>(shape) z = Range(start, limit, delta)
                     w = EyeLike<k=1, dtype=1>(y) })",
      {Int64s({2}, {3, 70}), Floats({}, {0.5}), Floats({}, {2500}), Floats({}, {0.25})});
}

// --- Resize

constexpr const char* kResize = R"(g (float[A,B,C,D] x) => (float[E,F,G,H] y) {
    scales = Constant<value_floats=[1.0,1.0,%s]>() y = Resize<mode="%s", %s>(x, , scales) })";

std::string Resize(const char* scales, const char* mode, const char* more) {
  char text[512];
  std::snprintf(text, sizeof text, kResize, scales, mode, more);
  return text;
}

TEST_F(Move, ResizeFilters) {
  const char* coordinates[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                               "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* name : coordinates)
      for (const char* scales : {"2.0,1.5", "0.6,0.75"}) {
        const std::string more = std::string("coordinate_transformation_mode=\"") + name + "\"";
        SCOPED_TRACE(std::string(mode) + " " + more + " " + scales);
        ExpectLikeCpu(Resize(scales, mode, more.c_str()), {Random(DataType::kFloat, {1, 2, 4, 6})}, {.opset = 19});
      }
}

TEST_F(Move, ResizeWithWidenedFiltersAndWithoutWhatIsOutside) {
  for (const char* more : {"antialias=1", "exclude_outside=1", "antialias=1, exclude_outside=1, cubic_coeff_a=-0.5"})
    for (const char* mode : {"linear", "cubic"}) {
      SCOPED_TRACE(std::string(mode) + " " + more);
      ExpectLikeCpu(Resize("0.4,1.5", mode, more), {Random(DataType::kFloat, {1, 2, 9, 6})});
    }
}

TEST_F(Move, ResizeOfFourAxesAndOfFloat16) {
  ExpectLikeCpu(R"(g (float16[A,B,C,D] x) => (float16[E,F,G,H] y) {
                     sizes = Constant<value_ints=[4,3,5,2]>() y = Resize<mode="linear">(x, , , sizes) })",
                {Random(DataType::kFloat16, {2, 4, 3, 4})}, {.tolerance = {.relative = 2e-3, .absolute = 4e-3}});
}

TEST_F(Move, CroppedResizeFillsWhatIsOutside) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    ExpectLikeCpu(std::string(R"(g (float[A,B,C,D] x) => (float[E,F,G,H] y) {
                     roi = Constant<value_floats=[0.0,0.0,-0.2,0.4,1.0,1.0,0.7,1.3]>()
                     sizes = Constant<value_ints=[1,1,5,6]>()
                     y = Resize<coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0, mode=")") +
                      mode + "\">(x, roi, , sizes) }",
                  {Random(DataType::kFloat, {1, 1, 4, 6})});
}

// --- Sampling

TEST_F(Move, GridSamplesOfEveryModeAndPadding) {
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const char* corners : {"0", "1"}) {
        const std::string attributes =
            std::string("mode=\"") + mode + "\", padding_mode=\"" + padding + "\", align_corners=" + corners;
        SCOPED_TRACE(attributes);
        ExpectLikeCpu(
            "g (float[A,B,C,D] x, float[A,E,F,G] grid) => (float[A,B,E,F] y) { y = GridSample<" + attributes +
                ">(x, grid) }",
            {Random(DataType::kFloat, {1, 2, 4, 5}),
             Floats({1, 2, 4, 2}, {-1, -1, 1, 1, 0.3f, -0.2f, -1.4f, 0.1f, 5, -7, 0, 0, 0.9f, 0.95f, -0.4f, 1.1f})},
            {.opset = 20});
      }
}

TEST_F(Move, PositionsThatAreNoNumbersAreOutside) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<ValuePtr> y = RunVulkan(
      "g (float[A,B,C,D] x, float[A,E,F,G] grid) => (float[A,B,E,F] y) { y = GridSample(x, grid) }",
      {Floats({1, 1, 2, 2}, {1, 2, 3, 4}), Floats({1, 1, 3, 2}, {nan, 0, infinity, 0, 0, -infinity})}, {.opset = 20});
  EXPECT_EQ(FloatsOf(*y[0]), (std::vector<float>{0, 0, 0}));
}

TEST_F(Move, RegionsOfImages) {
  for (const char* more :
       {"mode=\"avg\"", "mode=\"max\"", "sampling_ratio=2, coordinate_transformation_mode=\"output_half_pixel\""}) {
    SCOPED_TRACE(more);
    ExpectLikeCpu(std::string("g (float[A,B,C,D] x, float[E,F] rois, int64[E] which) => (float[E,B,G,H] y) { y = "
                              "RoiAlign<output_height=3, output_width=2, spatial_scale=0.5, ") +
                      more + ">(x, rois, which) }",
                  {Random(DataType::kFloat, {2, 3, 7, 9}), Floats({3, 4}, {1, 2, 11, 12, 0, 0, 3, 3, -4, -4, 30, 30}),
                   Int64s({3}, {0, 1, -1})});
  }
}

}  // namespace
}  // namespace epiphyte::test
