// For any numbers from a file, the result is a shape with a countable number of elements, or an error. Sanitizers that
// run this test detect undefined arithmetic.
#include <gmock/gmock.h>

#include <random>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/attention.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "epiphyte/kit/shape/depth_space.hpp"
#include "epiphyte/kit/shape/gather.hpp"
#include "epiphyte/kit/shape/join.hpp"
#include "epiphyte/kit/shape/pad.hpp"
#include "epiphyte/kit/shape/pool.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "epiphyte/kit/shape/repeat.hpp"
#include "epiphyte/kit/shape/reshape.hpp"
#include "epiphyte/kit/shape/slice.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::Dims;

class Numbers {
 public:
  int64_t Any() {
    static constexpr int64_t kNumbers[] = {INT64_MIN,
                                           INT64_MIN + 1,
                                           -(int64_t{1} << 31),
                                           -3,
                                           -1,
                                           0,
                                           1,
                                           2,
                                           3,
                                           4,
                                           7,
                                           int64_t{1} << 31,
                                           INT32_MAX,
                                           int64_t{1} << 57,
                                           int64_t{1} << 62,
                                           INT64_MAX - 1,
                                           INT64_MAX};
    // Most numbers are small; otherwise operands would almost never fit together.
    return random_() % 4 != 0 ? static_cast<int64_t>(random_() % 5) : kNumbers[random_() % std::size(kNumbers)];
  }
  size_t Rank(size_t most) { return random_() % (most + 1); }
  Dims List(size_t size) {
    Dims list;
    for (size_t i = 0; i < size; ++i) list.push_back(Any());
    return list;
  }
  std::vector<int64_t> Optional(size_t size) {
    const Dims list = List(random_() % 2 == 0 ? 0 : size);
    return {list.begin(), list.end()};
  }
  bool Flip() { return random_() % 2 == 0; }

 private:
  std::mt19937 random_{5};
};

kit::WindowAttributes AnyWindow(Numbers& numbers, size_t spatial) {
  kit::WindowAttributes window;
  window.auto_pad = static_cast<kit::AutoPad>(numbers.Rank(3));
  window.kernel = numbers.Optional(spatial);
  window.strides = numbers.Optional(spatial);
  window.dilations = numbers.Optional(spatial);
  window.pads = numbers.Optional(2 * spatial);
  return window;
}

// Calls `body` many times. Returns how often it succeeded.
template <typename Body>
int Try(Body&& body) {
  int made = 0;
  for (int i = 0; i < 20000; ++i) made += Complaint(body).empty();
  return made;
}

TEST(HostileNumbers, WindowsGiveShapesOrErrors) {
  Numbers numbers;
  EXPECT_GT(Try([&] {
              const size_t spatial = 1 + numbers.Rank(1);
              const kit::ConvolutionShape shape(AnyWindow(numbers, spatial), numbers.List(spatial + 2),
                                                numbers.List(spatial + 2), numbers.Any());
              EXPECT_LE(kit::CheckedCount(shape.y), INT64_MAX / 64);
            }),
            0);
  EXPECT_GT(Try([&] {
              const size_t spatial = 1 + numbers.Rank(1);
              kit::TransposedConvolutionAttributes attributes;
              attributes.window = AnyWindow(numbers, spatial);
              attributes.output_padding = numbers.Optional(spatial);
              attributes.output_shape = numbers.Optional(spatial + (numbers.Flip() ? 2 : 0));
              attributes.group = numbers.Any();
              const kit::TransposedConvolutionShape shape(attributes, numbers.List(spatial + 2),
                                                          numbers.List(spatial + 2));
              kit::CheckedCount(shape.y);
            }),
            0);
  EXPECT_GT(Try([&] {
              kit::PoolAttributes attributes;
              attributes.window = AnyWindow(numbers, 2);
              attributes.global = numbers.Flip();
              attributes.ceil_mode = numbers.Flip();
              const Dims x = numbers.List(4);
              attributes.Resolve(x).OutputDims(x[0], x[1]);
            }),
            0);
}

TEST(HostileNumbers, MovesGiveShapesOrErrors) {
  Numbers numbers;
  EXPECT_GT(Try([&] {
              const size_t rank = numbers.Rank(4), count = numbers.Rank(rank);
              const Dims x = numbers.List(rank), axes = numbers.List(count), steps = numbers.List(count);
              const kit::SliceShape slice(x, numbers.List(count), numbers.List(count), numbers.Flip() ? &axes : nullptr,
                                          numbers.Flip() ? &steps : nullptr);
              if (kit::CheckedCount(slice.dims) == 0) return;
              Dims strides = kit::RowMajorStrides(x);
              kit::ApplySlice(slice.ranges, strides);
            }),
            0);
  EXPECT_GT(Try([&] { kit::ExpandShape(numbers.List(numbers.Rank(4)), numbers.List(numbers.Rank(4))); }), 0);
  EXPECT_GT(Try([&] { kit::TileShape(numbers.List(2), numbers.List(2)); }), 0);
  EXPECT_GT(Try([&] {
              const Dims first = numbers.List(3);
              kit::ConcatShape shape(first, numbers.Any());
              Dims next = first;
              next[shape.axis()] = numbers.Any();
              shape.Add(next);
              shape.Result();
            }),
            0);
  EXPECT_GT(Try([&] { kit::CheckSplit(numbers.List(3), 3, numbers.Any()); }), 0);
  EXPECT_GT(Try([&] { kit::GatherDims(numbers.List(2), numbers.List(numbers.Rank(3)), 1); }), 0);
  EXPECT_GT(Try([&] {
              const Dims x = numbers.List(numbers.Rank(4));
              kit::GatherNdShape(x, numbers.List(numbers.Rank(4)), numbers.Any());
            }),
            0);
  EXPECT_GT(Try([&] {
              const Dims x = numbers.List(numbers.Rank(4));
              kit::ReshapeDims(x, numbers.List(numbers.Rank(4)), numbers.Flip());
            }),
            0);
  EXPECT_GT(Try([&] { kit::FlattenDims(numbers.List(numbers.Rank(4)), numbers.Any()); }), 0);
  EXPECT_GT(Try([&] { kit::UnsqueezeDims(numbers.List(2), numbers.List(numbers.Rank(3))); }), 0);
  EXPECT_GT(Try([&] { kit::PaddedDims(numbers.List(2), numbers.List(2), numbers.List(2)); }), 0);
  EXPECT_GT(Try([&] { kit::DepthToSpaceMove(numbers.List(4), numbers.Any(), numbers.Flip()); }), 0);
  EXPECT_GT(Try([&] { kit::SpaceToDepthMove(numbers.List(4), numbers.Any()); }), 0);
}

TEST(HostileNumbers, ProductsGiveShapesOrErrors) {
  Numbers numbers;
  EXPECT_GT(Try([&] {
              const Dims a = numbers.List(numbers.Rank(4));
              kit::ProductShape(a, numbers.List(numbers.Rank(4)));
            }),
            0);
  EXPECT_GT(Try([&] { kit::GemmShape(numbers.List(2), numbers.List(2), numbers.Flip(), numbers.Flip()); }), 0);
  EXPECT_GT(Try([&] {
              // The shapes are equal except for a few numbers; otherwise they would almost never fit together.
              const Dims like = numbers.List(numbers.Flip() ? 3 : 4);
              const auto near = [&](Dims dims) {
                if (numbers.Flip()) dims[numbers.Rank(dims.size() - 1)] = numbers.Any();
                return dims;
              };
              const Dims q = near(like), k = near(like), v = near(like), past_key = near(like), past_value = near(like);
              const bool cached = numbers.Flip();
              const kit::AttentionShape shape(q, k, v, cached ? &past_key : nullptr, cached ? &past_value : nullptr,
                                              numbers.Any(), numbers.Any());
              kit::CheckedCount(shape.Output());
              kit::AttentionMask(shape, near(shape.Scores()));
            }),
            0);
}

}  // namespace
}  // namespace epiphyte::test
