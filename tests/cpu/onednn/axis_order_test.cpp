// Operators that take data in any order in memory: results equal those of row-major data, and no input is reordered.
#include <gmock/gmock.h>

#include <functional>

#include "plugins/cpu/onednn/layout.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using cpu::AxisOrder;

AxisOrder ChannelsLast(size_t rank) {
  AxisOrder order = AxisOrder::RowMajor(rank);
  for (size_t i = 1; i + 1 < rank; ++i) order.axes[i] = static_cast<uint8_t>(i + 1);
  order.axes[rank - 1] = 1;
  return order;
}
AxisOrder Blocks(size_t rank, uint8_t block) {
  AxisOrder order = AxisOrder::RowMajor(rank);
  order.block = block;
  return order;
}

int64_t Count(const Shape& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}
// Numbers of both signs that are different everywhere and exact in float.
std::vector<float> Numbers(const Shape& dims, int64_t seed = 0) {
  std::vector<float> values(static_cast<size_t>(Count(dims)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int64_t>(i) * 37 + seed * 11) % 4099 - 2000) / 8;
  return values;
}

using testing::FloatNear;
using testing::Pointwise;

// An operator that is run on row-major inputs and on inputs in another order; results are compared.
struct Case {
  std::function<OpRunner()> make;
  std::vector<size_t> ordered;  // indices of the inputs stored in `order`
  AxisOrder order;
  int reorders = 0;
  std::optional<AxisOrder> output = {};  // order of the outputs; `order` unless given
  size_t outputs = 1;
  float tolerance = 0;
};
void ExpectSame(const Case& c) {
  OpRunner plain = c.make();
  plain.Run();
  for (const bool in_place : {false, true}) {
    OpRunner runner = c.make();
    for (size_t i : c.ordered) runner.InOrder(i, c.order);
    runner.InPlace(in_place);
    runner.Run();
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(runner.reorders(), c.reorders);
      for (size_t i = 0; i < c.outputs; ++i) {
        EXPECT_EQ(runner.Dims(i), plain.Dims(i));
        EXPECT_THAT(runner.Output<float>(i), Pointwise(FloatNear(c.tolerance), plain.Output<float>(i)));
        EXPECT_TRUE(runner.OutputOrder(i) == c.output.value_or(c.order)) << "output " << i;
      }
      runner.RunAgain();
    }
  }
}

TEST(AxisOrder, SaysHowChannelsLastAndBlocksLie) {
  const Shape dims = {2, 32, 5, 7};
  EXPECT_EQ(cpu::InMemory(dims, ChannelsLast(4)), (cpu::Dims{2, 5, 7, 32}));
  EXPECT_EQ(cpu::PositionOf(ChannelsLast(4), 1), 3u);
  EXPECT_EQ(cpu::StridesOf(dims, ChannelsLast(4)).axes, (cpu::Dims{1120, 1, 224, 32}));
  EXPECT_EQ(cpu::InMemory(dims, Blocks(4, 16)), (cpu::Dims{2, 2, 5, 7, 16}));
  EXPECT_EQ(cpu::StridesOf(dims, Blocks(4, 16)).axes, (cpu::Dims{1120, 560, 112, 16}));
  for (const AxisOrder& order : {ChannelsLast(4), Blocks(4, 8), Blocks(4, 16)}) {
    const auto layout = cpu::MakeLayout(order, EP_TYPE_FLOAT, dims);
    ASSERT_NE(layout, nullptr);
    EXPECT_TRUE(layout->order == order);
  }
  EXPECT_EQ(cpu::MakeLayout(AxisOrder::RowMajor(4), EP_TYPE_FLOAT, dims), nullptr);
  // 17 channels in blocks of eight are padded, and padding is no order of the elements alone.
  const dnnl::memory::desc padded({1, 17, 5, 7}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::aBcd8b);
  EXPECT_FALSE(cpu::OrderOf(padded).has_value());
  EXPECT_FALSE(cpu::Holds(Blocks(4, 8), Shape{1, 17, 5, 7}));
}

TEST(AxisOrder, SaysWhichRowMajorDataLiesAlike) {
  EXPECT_TRUE(cpu::LiesAlike(Shape{1, 48, 1, 1}, ChannelsLast(4)));
  EXPECT_TRUE(cpu::LiesAlike(Shape{48, 1, 1}, Blocks(4, 16)));
  EXPECT_TRUE(cpu::LiesAlike(Shape{1, 1, 5, 7}, ChannelsLast(4)));
  EXPECT_TRUE(cpu::LiesAlike(Shape{7}, Blocks(4, 16)));
  EXPECT_FALSE(cpu::LiesAlike(Shape{1, 48, 5, 1}, ChannelsLast(4)));
  EXPECT_FALSE(cpu::LiesAlike(Shape{1, 48, 1, 7}, Blocks(4, 16)));
}

OpRunner Concat(int64_t axis, const std::vector<Shape>& shapes) {
  OpRunner runner("Concat", 13);
  runner.Attribute("axis", axis);
  for (size_t i = 0; i < shapes.size(); ++i)
    runner.Input<float>(shapes[i], Numbers(shapes[i], static_cast<int64_t>(i)));
  return runner;
}

TEST(AxisOrder, ConcatJoinsAnyChannelsInAnyOrder) {
  for (const int64_t height : {1, 6, 29}) {
    const std::vector<Shape> odd = {{2, 5, height, 9}, {2, 17, height, 9}, {2, 48, height, 9}, {2, 1, height, 9}};
    ExpectSame({[&] { return Concat(1, odd); }, {0, 1, 2}, ChannelsLast(4)});
    const std::vector<Shape> blocks = {{2, 16, height, 9}, {2, 48, height, 9}};
    ExpectSame({[&] { return Concat(1, blocks); }, {0, 1}, Blocks(4, 16)});
    ExpectSame({[&] { return Concat(1, blocks); }, {0, 1}, Blocks(4, 8)});
  }
  ExpectSame({[&] { return Concat(1, {{1, 5, 130}, {1, 17, 130}}); }, {0, 1}, ChannelsLast(3)});
  ExpectSame({[&] { return Concat(1, {{1, 5, 3, 4, 5}, {1, 17, 3, 4, 5}}); }, {0, 1}, ChannelsLast(5)});
  ExpectSame({[&] { return Concat(1, {{1, 8, 3, 4, 5}, {1, 16, 3, 4, 5}}); }, {0, 1}, Blocks(5, 8)});
}

TEST(AxisOrder, ConcatJoinsOtherAxes) {
  for (const int64_t axis : {0, 2, 3}) {
    std::vector<Shape> shapes = {{2, 48, 3, 5}, {2, 48, 3, 5}, {2, 48, 3, 5}};
    shapes[1][static_cast<size_t>(axis)] = 4;
    ExpectSame({[&] { return Concat(axis, shapes); }, {0, 1, 2}, ChannelsLast(4)});
    ExpectSame({[&] { return Concat(axis, shapes); }, {0, 1, 2}, Blocks(4, 16)});
  }
}

TEST(AxisOrder, ConcatTakesInputsInSeveralOrders) {
  // The second input is row-major. The result has the order of most of the input data.
  const std::vector<Shape> shapes = {{1, 17, 40, 41}, {1, 32, 40, 41}, {1, 5, 40, 41}};
  ExpectSame({[&] { return Concat(1, shapes); }, {0, 2}, ChannelsLast(4)});
  // Blocks can't hold 17 channels, so the result is row-major. No input is reordered on its own.
  ExpectSame({[&] { return Concat(1, shapes); }, {1}, Blocks(4, 16), 0, AxisOrder::RowMajor(4)});
  OpRunner both = Concat(1, {{1, 16, 6, 7}, {1, 32, 6, 7}, {1, 16, 6, 7}});
  both.Run();
  const std::vector<float> expected = both.Output<float>(0);
  both.InOrder(0, ChannelsLast(4)).InOrder(1, Blocks(4, 16)).InOrder(2, Blocks(4, 8));
  both.Run();
  EXPECT_EQ(both.Output<float>(0), expected);
}

TEST(AxisOrder, ConcatSkipsEmptyParts) {
  ExpectSame({[&] { return Concat(1, {{1, 5, 6, 7}, {1, 0, 6, 7}, {1, 3, 6, 7}}); }, {0, 2}, ChannelsLast(4)});
}

TEST(AxisOrder, SplitKeepsTheOrderOfItsInput) {
  const auto split = [](int64_t axis, const Shape& dims, const std::vector<int64_t>& sizes) {
    OpRunner runner("Split", 13);
    runner.Attribute("axis", axis).Input<float>(dims, Numbers(dims));
    runner.Constant<int64_t>({static_cast<int64_t>(sizes.size())}, sizes).Outputs(sizes.size());
    return runner;
  };
  ExpectSame({[&] { return split(1, {2, 22, 5, 7}, {5, 17}); }, {0}, ChannelsLast(4), 0, {}, 2});
  ExpectSame({[&] { return split(2, {2, 22, 5, 7}, {2, 3}); }, {0}, ChannelsLast(4), 0, {}, 2});
  ExpectSame({[&] { return split(1, {2, 64, 5, 7}, {16, 48}); }, {0}, Blocks(4, 16), 0, {}, 2});
  // This split would cut a block, so the input is reordered.
  ExpectSame({[&] { return split(1, {2, 64, 5, 7}, {24, 40}); }, {0}, Blocks(4, 16), 1, AxisOrder::RowMajor(4), 2});
}

TEST(AxisOrder, SliceKeepsTheOrderOfItsInput) {
  const auto slice = [](const Shape& dims, std::vector<int64_t> from, std::vector<int64_t> to,
                        std::vector<int64_t> axes, std::vector<int64_t> steps) {
    const Shape n = {static_cast<int64_t>(from.size())};
    OpRunner runner("Slice", 13);
    runner.Input<float>(dims, Numbers(dims)).Constant<int64_t>(n, from).Constant<int64_t>(n, to);
    runner.Constant<int64_t>(n, axes).Constant<int64_t>(n, steps);
    return runner;
  };
  const Shape dims = {2, 48, 9, 11};
  ExpectSame({[&] { return slice(dims, {3}, {20}, {1}, {1}); }, {0}, ChannelsLast(4)});
  ExpectSame({[&] { return slice(dims, {40, -1}, {2, -12}, {1, 3}, {-7, -2}); }, {0}, ChannelsLast(4)});
  ExpectSame({[&] { return slice(dims, {16, 1}, {48, 8}, {1, 2}, {1, 2}); }, {0}, Blocks(4, 16)});
  ExpectSame({[&] { return slice(dims, {8}, {48}, {1}, {1}); }, {0}, Blocks(4, 16), 1, AxisOrder::RowMajor(4)});
}

TEST(AxisOrder, TransposeReadsWhatLiesThere) {
  const auto transpose = [](const Shape& dims, const std::vector<int64_t>& perm) {
    OpRunner runner("Transpose", 13);
    runner.Attribute("perm", perm).Input<float>(dims, Numbers(dims));
    return runner;
  };
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{0, 2, 3, 1}, {3, 1, 0, 2}, {0, 1, 2, 3}})
    ExpectSame({[&] { return transpose({2, 17, 6, 7}, perm); }, {0}, ChannelsLast(4), 0, AxisOrder::RowMajor(4)});
}

TEST(AxisOrder, PadKeepsTheOrderOfItsInput) {
  const auto pad = [](const Shape& dims, const std::vector<int64_t>& pads, const std::string& mode) {
    OpRunner runner("Pad", 13);
    runner.Attribute("mode", mode).Input<float>(dims, Numbers(dims));
    runner.Constant<int64_t>({static_cast<int64_t>(pads.size())}, pads).Constant<float>({}, {0.5f});
    return runner;
  };
  for (const std::string mode : {"constant", "reflect", "edge"}) {
    ExpectSame({[&] { return pad({2, 17, 6, 7}, {0, 0, 1, 2, 0, 0, 3, 1}, mode); }, {0}, ChannelsLast(4)});
    ExpectSame({[&] { return pad({2, 17, 6, 7}, {0, 2, 1, 0, 0, 3, 0, -1}, mode); }, {0}, ChannelsLast(4)});
    ExpectSame({[&] { return pad({2, 16, 6, 7}, {0, 0, 1, 2, 0, 0, 3, -1}, mode); }, {0}, Blocks(4, 8)});
  }
  ExpectSame({[&] {
                return pad({1, 16, 6, 7}, {0, 1, 0, 0, 0, 0, 0, 0}, "constant");
              },
              {0},
              Blocks(4, 8),
              1,
              AxisOrder::RowMajor(4)});
}

TEST(AxisOrder, ResizeKeepsTheOrderOfItsInput) {
  const auto resize = [](const std::string& mode, int64_t channels) {
    OpRunner runner("Resize", 13);
    const Shape dims = {2, channels, 5, 7};
    runner.Attribute("mode", mode).Attribute("coordinate_transformation_mode", "asymmetric");
    runner.Input<float>(dims, Numbers(dims)).NoInput().Constant<float>({4}, {1, 1, 2, 3});
    return runner;
  };
  for (const std::string mode : {"nearest", "linear"}) {
    // Rows may be interpolated before columns or after them, which rounds differently.
    const float tolerance = mode == "linear" ? 1e-4f : 0;
    ExpectSame({[&] { return resize(mode, 17); }, {0}, ChannelsLast(4), 0, {}, 1, tolerance});
    ExpectSame({[&] { return resize(mode, 32); }, {0}, Blocks(4, 16), 0, {}, 1, tolerance});
  }
}

TEST(AxisOrder, BatchNormalizationScalesChannelsWhereTheyLie) {
  const auto normalize = [](const Shape& dims, bool activates = false) {
    OpRunner runner("BatchNormalization", activates ? 1 : 15, activates ? "epiphyte.kit" : "");
    if (activates) runner.Attribute("activation", std::string("Relu"));
    const Shape c = {dims[1]};
    std::vector<float> variance(static_cast<size_t>(dims[1]), 4.0f);
    runner.Input<float>(dims, Numbers(dims)).Constant<float>(c, Numbers(c, 1)).Constant<float>(c, Numbers(c, 2));
    runner.Constant<float>(c, Numbers(c, 3)).Constant<float>(c, variance).Attribute("epsilon", 0.0f);
    return runner;
  };
  ExpectSame({[&] { return normalize({2, 17, 40, 41}); }, {0}, ChannelsLast(4)});
  ExpectSame({[&] { return normalize({2, 48, 5, 7}); }, {0}, Blocks(4, 16)});
  // The data between normalization and activation is larger than the cache.
  ExpectSame({[&] { return normalize({2, 17, 40, 41}, true); }, {0}, ChannelsLast(4)});
  ExpectSame({[&] { return normalize({2, 48, 25, 37}, true); }, {0}, Blocks(4, 16)});
}

TEST(AxisOrder, BroadcastOperandsFollowTheFullOne) {
  const auto binary = [](const std::string& op, const Shape& a, const Shape& b) {
    OpRunner runner(op, 14);
    runner.Input<float>(a, Numbers(a)).Input<float>(b, Numbers(b, 5));
    return runner;
  };
  const Shape full = {2, 48, 6, 7};
  for (const AxisOrder& order : {ChannelsLast(4), Blocks(4, 16)}) {
    for (const Shape& other :
         std::vector<Shape>{{1, 48, 1, 1}, {2, 48, 1, 1}, {48, 1, 1}, {}, {7}, {2, 1, 6, 7}, full}) {
      ExpectSame({[&] { return binary("Mul", full, other); }, {0}, order});
      ExpectSame({[&] { return binary("Sub", other, full); }, {1}, order});
    }
    ExpectSame({[&] { return binary("Add", full, full); }, {0, 1}, order});
  }
  ExpectSame({[&] { return binary("PRelu", full, {48, 1, 1}); }, {0}, ChannelsLast(4)});
}

// Weights that keep sums of hundreds of products small.
std::vector<float> Weights(int64_t count, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int64_t>(i) * 29 + seed * 7) % 101 - 50) / 256;
  return values;
}
OpRunner Conv(const Shape& x_dims, const std::vector<float>& x, const Shape& w_dims, int64_t seed) {
  OpRunner conv("Conv", 11);
  conv.Input<float>(x_dims, x).Constant<float>(w_dims, Weights(Count(w_dims), seed));
  conv.Attribute("pads", std::vector<int64_t>{w_dims[2] / 2, w_dims[2] / 2, w_dims[2] / 2, w_dims[2] / 2});
  conv.Run();
  return conv;
}

TEST(AxisOrder, APlanKeepsTheOrderBetweenConvolutions) {
  for (const int64_t channels : {5, 17, 48}) {
    const Shape x_dims = {2, 3, 12, 13}, c_dims = {2, 16 + channels, 12, 13};
    const Shape w1 = {16, 3, 1, 1}, w2 = {channels, 3, 3, 3}, w3 = {4, 16 + channels, 3, 3};
    PlanBuilder b;
    const auto pads = [](int64_t pad) {
      return std::vector<kit::ir::Attribute>{{.name = "pads", .type = EP_ATTRIBUTE_INTS, .ints = {pad, pad, pad, pad}}};
    };
    const int32_t x = b.Input(x_dims);
    const int32_t one = b.Node("Conv", 11, {x, b.Constant(w1, Weights(Count(w1), 1))}, {2, 16, 12, 13}, pads(0));
    const int32_t two = b.Node("Conv", 11, {x, b.Constant(w2, Weights(Count(w2), 2))}, {2, channels, 12, 13}, pads(1));
    const int32_t joined =
        b.Node("Concat", 13, {one, two}, c_dims, {{.name = "axis", .type = EP_ATTRIBUTE_INT, .ints = {1}}});
    const Shape s_dims = {1, 16 + channels, 1, 1};
    const int32_t scaled = b.Node("Mul", 14, {joined, b.Constant(s_dims, Numbers(s_dims))}, c_dims);
    b.Output(b.Node("Conv", 11, {scaled, b.Constant(w3, Weights(Count(w3), 3))}, {2, 4, 12, 13}, pads(1)));
    b.Output(joined);
    PlanRunner runner(b.Take());
    for (int run = 0; run < 3; ++run) {
      const std::vector<float> input = Weights(Count(x_dims), run);
      OpRunner concat("Concat", 13);
      concat.Attribute("axis", 1);
      concat.Input<float>({2, 16, 12, 13}, Conv(x_dims, input, w1, 1).Output<float>(0));
      concat.Input<float>({2, channels, 12, 13}, Conv(x_dims, input, w2, 2).Output<float>(0));
      concat.Run();
      OpRunner mul("Mul", 14);
      mul.Input<float>(c_dims, concat.Output<float>(0)).Input<float>(s_dims, Numbers(s_dims));
      mul.Run();
      const std::vector<float> expected = Conv(c_dims, mul.Output<float>(0), w3, 3).Output<float>(0);
      EXPECT_THAT(runner.Run({input}), testing::Pointwise(testing::FloatNear(2e-3f), expected));
      EXPECT_THAT(runner.last_run().outputs[1].data,
                  testing::Pointwise(testing::FloatNear(1e-4f), concat.Output<float>(0)));
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
