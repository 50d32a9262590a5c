// Slices by the rules of ONNX, compared with walking the indices.
#include <gmock/gmock.h>

#include <vector>

#include "epiphyte/kit/shape/slice.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::Dims;
using kit::ShapeText;
using kit::SliceRange;
using kit::SliceShape;
using ::testing::HasSubstr;

// Returns the indices of Python's range(*slice(start, end, step).indices(dim)). There is one difference, for a negative
// step and a start before the first element: ONNX begins with the first element, while Python has no index.
std::vector<int64_t> Walk(int64_t start, int64_t end, int64_t step, int64_t dim) {
  std::vector<int64_t> indices;
  const auto bound = [&](int64_t at, int64_t least, int64_t most) {
    if (at < 0) at += dim;
    return std::clamp(at, least, most);
  };
  if (step > 0) {
    for (int64_t i = bound(start, 0, dim); i < bound(end, 0, dim); i += step) indices.push_back(i);
  } else {
    for (int64_t i = bound(start, dim == 0 ? -1 : 0, dim - 1); i > bound(end, -1, dim - 1); i += step)
      indices.push_back(i);
  }
  return indices;
}

TEST(ResolveSlice, TakesWhatTheSpecificationTakes) {
  for (const int64_t dim : {0, 1, 5})
    for (int64_t start = -7; start <= 7; ++start)
      for (int64_t end = -7; end <= 7; ++end)
        for (const int64_t step : {-6, -2, -1, 1, 2, 6}) {
          const std::vector<int64_t> expected = Walk(start, end, step, dim);
          const SliceRange range = kit::ResolveSlice(start, end, step, dim);
          ASSERT_EQ(range.count, static_cast<int64_t>(expected.size())) << start << ":" << end << ":" << step;
          for (size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(range.start + static_cast<int64_t>(i) * range.step, expected[i]);
        }
}

TEST(ResolveSlice, TheLargestNumbersAreOnlyFarAway) {
  EXPECT_EQ(kit::ResolveSlice(INT64_MIN, INT64_MAX, 1, 5).count, 5);
  EXPECT_EQ(kit::ResolveSlice(INT64_MAX, INT64_MIN, -1, 5).count, 5);
  EXPECT_EQ(kit::ResolveSlice(INT64_MAX, INT64_MIN, INT64_MIN, 5).count, 1);
  EXPECT_EQ(Complaint([] { kit::ResolveSlice(0, 5, 0, 5); }), "a step of 0 found, another number expected");
}

TEST(SliceShape, IsAViewOfTheInput) {
  const Dims x{4, 5, 6}, axes{-1, 0}, steps{-2, 1};
  const SliceShape slice(x, Dims{5, 1}, Dims{0, 3}, &axes, &steps);
  EXPECT_EQ(ShapeText(slice.dims), "[2,5,3]");
  EXPECT_FALSE(slice.whole);
  Dims strides = kit::RowMajorStrides(x);
  EXPECT_EQ(kit::ApplySlice(slice.ranges, strides), 1 * 30 + 5);
  EXPECT_EQ(ShapeText(strides), "[30,6,-2]");
}

TEST(SliceShape, KnowsThatItTakesEverything) {
  const Dims x{4, 1}, steps{1, -1};
  EXPECT_TRUE(SliceShape(x, Dims{0}, Dims{INT64_MAX}, nullptr, nullptr).whole);
  EXPECT_TRUE(SliceShape(x, Dims{-4, 0}, Dims{9, -9}, nullptr, &steps).whole);
  EXPECT_FALSE(SliceShape(x, Dims{1}, Dims{INT64_MAX}, nullptr, nullptr).whole);
}

TEST(SliceShape, ListsOfDifferentLengthsAreRefused) {
  const Dims x{4, 5}, one{0}, twice{1, 1};
  EXPECT_EQ(Complaint([&] {
              SliceShape(x, Dims{0, 0}, Dims{1}, nullptr, nullptr);
            }),
            "2 starts, 1 ends, 2 axes and 2 steps found for rank 2, the same number and at most the rank expected");
  EXPECT_THAT(Complaint([&] { SliceShape(x, Dims{0, 0}, Dims{1, 1}, &one, nullptr); }), HasSubstr("1 axes"));
  EXPECT_THAT(Complaint([&] {
                SliceShape(x, Dims{0, 0, 0}, Dims{1, 1, 1}, nullptr, nullptr);
              }),
              HasSubstr("for rank 2"));
  EXPECT_THAT(Complaint([&] { SliceShape(x, Dims{0, 0}, Dims{1, 1}, &twice, nullptr); }), HasSubstr("each axis once"));
}

}  // namespace
}  // namespace epiphyte::test
