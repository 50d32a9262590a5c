// Broadcasting and walks over strided memory, compared with the definition for each element.
#include <gmock/gmock.h>

#include <random>

#include "epiphyte/kit/shape/broadcast.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::BroadcastLoop;
using kit::BroadcastShape;
using kit::Dims;
using kit::ShapeText;

TEST(BroadcastShape, FollowsNumpy) {
  EXPECT_EQ(ShapeText(BroadcastShape(Dims{2, 3, 4}, Dims{3, 1})), "[2,3,4]");
  EXPECT_EQ(ShapeText(BroadcastShape(Dims{}, Dims{5})), "[5]");
  EXPECT_EQ(ShapeText(BroadcastShape(Dims{3, 1}, Dims{1, 0})), "[3,0]");
  const Dims a{1, 4}, b{3, 1}, c{2, 1, 1};
  const Dims* shapes[] = {&a, &b, &c};
  EXPECT_EQ(ShapeText(BroadcastShape(shapes)), "[2,3,4]");
}

TEST(BroadcastShape, SaysWhichShapesDoNotFitAndWhere) {
  EXPECT_EQ(Complaint([] {
              BroadcastShape(Dims{2, 3}, Dims{4, 3});
            }),
            "shapes [2,3] and [4,3] do not broadcast: 2 and 4 in dimension 2 from the right");
  EXPECT_EQ(Complaint([] { BroadcastShape(Dims{0}, Dims{2}); }),
            "shapes [0] and [2] do not broadcast: 0 and 2 in dimension 1 from the right");
}

// Returns the offset in a tensor of shape `dims` that element `i` of a tensor of shape `out` reads.
int64_t Place(const Dims& out, const Dims& dims, int64_t i) {
  int64_t place = 0, stride = 1;
  for (size_t d = out.size(); d-- > 0; i /= out[d]) {
    const size_t from_right = out.size() - d;
    if (from_right > dims.size()) continue;
    const int64_t dim = dims[dims.size() - from_right];
    if (dim != 1) place += i % out[d] * stride;
    stride *= dim;
  }
  return place;
}

TEST(BroadcastLoop, ReadsEachElementWhereTheDefinitionDoes) {
  const std::pair<Dims, Dims> cases[] = {
      {{2, 3, 4, 5}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {3, 1, 1}},
      {{2, 3, 4, 5}, {}},
      {{2, 1, 4}, {1, 3, 1}},
      {{1, 1}, {1}},
      {{7}, {2, 1}},
      {{2, 3, 4}, {2, 1, 4}},
      {{}, {}},
      {{3, 1, 5, 1}, {1, 4, 1, 6}},
      {{2, 0, 3}, {1, 3}},
      {{1, 2, 1, 2, 1}, {2, 1}},
  };
  for (const auto& shapes : cases) {
    const Dims &a = shapes.first, &b = shapes.second;
    SCOPED_TRACE(ShapeText(a) + " with " + ShapeText(b));
    const Dims out = BroadcastShape(a, b);
    const BroadcastLoop<2> loop(out, {&a, &b});
    ASSERT_EQ(loop.count(), out.Count());
    // The loop must be right in every share that a thread may get.
    for (int64_t share = 1; share <= loop.count() + 1; share += 3) {
      int64_t next = 0;
      for (int64_t begin = 0; begin < loop.count(); begin += share) {
        const int64_t end = std::min(begin + share, loop.count());
        loop.Run(begin, end, [&](int64_t n, int64_t at, const BroadcastLoop<2>::Operands& in) {
          ASSERT_EQ(at, next);
          for (int64_t i = 0; i < n; ++i) {
            ASSERT_EQ(in[0].offset + i * in[0].stride, Place(out, a, at + i));
            ASSERT_EQ(in[1].offset + i * in[1].stride, Place(out, b, at + i));
          }
          next += n;
        });
      }
      ASSERT_EQ(next, loop.count());
    }
  }
}

TEST(BroadcastLoop, JoinsWhatIsBroadcastAlike) {
  const auto rows = [](const Dims& a, const Dims& b) {
    const Dims out = BroadcastShape(a, b);
    int64_t count = 0;
    BroadcastLoop<2>(out, {&a, &b}).Run(0, out.Count(), [&](int64_t, int64_t, const auto&) { ++count; });
    return count;
  };
  EXPECT_EQ(rows({2, 3, 4, 5}, {2, 3, 4, 5}), 1);
  EXPECT_EQ(rows({2, 3, 4, 5}, {}), 1);
  EXPECT_EQ(rows({2, 3, 4, 5}, {3, 1, 1}), 6);
}

TEST(Strides, AreThoseOfRowMajorTensors) {
  EXPECT_EQ(ShapeText(kit::RowMajorStrides(Dims{2, 3, 4})), "[12,4,1]");
  EXPECT_EQ(ShapeText(kit::RowMajorStrides(Dims{})), "[]");
}

TEST(Simplify, KeepsTheMoveAndLosesAxes) {
  // A transposition of [2,3,4,5] to [4,5,2,3] is one of two axes.
  const kit::StridedBlock transposed = kit::Simplify(Dims{4, 5, 2, 3}, Dims{5, 1, 60, 20}, Dims{30, 6, 3, 1});
  EXPECT_EQ(ShapeText(transposed.dims), "[20,6]");
  EXPECT_EQ(ShapeText(transposed.from), "[1,20]");
  EXPECT_EQ(ShapeText(transposed.to), "[6,1]");
  EXPECT_EQ(ShapeText(kit::Simplify(Dims{1, 1}, Dims{9, 9}, Dims{1, 1}).dims), "[1]");

  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    kit::StridedBlock block;
    const size_t rank = 1 + random() % 4;
    for (size_t d = 0; d < rank; ++d) {
      block.dims.push_back(1 + static_cast<int64_t>(random() % 3));
      block.from.push_back(static_cast<int64_t>(random() % 7) - 3);
    }
    block.to = kit::RowMajorStrides(block.dims);
    const kit::StridedBlock simple = kit::Simplify(block);
    const int64_t count = block.dims.Count();
    ASSERT_EQ(simple.dims.Count(), count);
    std::vector<int64_t> expected(static_cast<size_t>(count)), moved(static_cast<size_t>(count));
    kit::Odometer slow(block, rank, 0);
    for (int64_t k = 0; k < count; ++k, slow.Next()) expected[static_cast<size_t>(slow.to())] = slow.from();
    kit::Odometer fast(simple, simple.dims.size(), 0);
    for (int64_t k = 0; k < count; ++k, fast.Next()) moved[static_cast<size_t>(fast.to())] = fast.from();
    ASSERT_EQ(moved, expected);
  }
}

TEST(Odometer, StartsAnywhere) {
  const kit::StridedBlock block{{2, 3, 4}, {1, 2, 6}, {12, 4, 1}};
  kit::Odometer walk(block, 3, 0);
  for (int64_t i = 0; i < 24; ++i, walk.Next()) {
    const kit::Odometer there(block, 3, i);
    EXPECT_EQ(walk.to(), i);
    EXPECT_EQ(there.from(), walk.from());
    EXPECT_EQ(there.to(), walk.to());
  }
}

}  // namespace
}  // namespace epiphyte::test
