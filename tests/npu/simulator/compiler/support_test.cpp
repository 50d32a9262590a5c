// Unsupported operators are refused with the value that was found. CheckOp accepts supported ones without any data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "plugins/npu/simulator/compiler/compiler.h"
#include "tests/npu/simulator/graph_builder.h"

namespace epiphyte::npusim {
namespace {

using testing::HasSubstr;

struct Refusal {
  const char* name;
  std::function<void(GraphBuilder&)> build;
  const char* why;
};

constexpr Quantisation kQ{0.1f, 0};

void Unary(GraphBuilder& b, uint32_t kind, std::vector<int64_t> from, std::vector<int64_t> to,
           std::vector<OpParam> params = {}, uint32_t type = NSDK_INT8, Quantisation q = kQ) {
  const uint32_t x = b.Input("x", type, std::move(from), q);
  const uint32_t y = b.Value(type, std::move(to), q);
  b.Op(kind, {x}, {y}, std::move(params), "op");
  b.Output(y, "y");
}

void Conv(GraphBuilder& b, std::vector<int64_t> x_dims, std::vector<int64_t> w_dims, std::vector<int64_t> y_dims,
          uint32_t w_type = NSDK_INT8, float y_scale = 0.1f, std::vector<OpParam> params = {}) {
  const uint32_t x = b.Input("x", NSDK_INT8, std::move(x_dims), kQ);
  const uint32_t w = b.RandomConstant(w_type, std::move(w_dims), kQ);
  const uint32_t y = b.Value(NSDK_INT8, std::move(y_dims), {y_scale, 0});
  b.Op(NSDK_CONV, {x, w}, {y}, std::move(params), "op");
  b.Output(y, "y");
}

const Refusal kRefusals[] = {
    {"Floats",
     [](GraphBuilder& b) {
       Unary(b, NSDK_SOFTMAX, {2, 4}, {2, 4}, {}, NSDK_FLOAT32, {});
     },
     "float32"},
    {"Int16",
     [](GraphBuilder& b) {
       Unary(b, NSDK_SOFTMAX, {2, 4}, {2, 4}, {}, NSDK_INT16);
     },
     "int16"},
    {"NotQuantised",
     [](GraphBuilder& b) {
       Unary(b, NSDK_SOFTMAX, {2, 4}, {2, 4}, {}, NSDK_INT8, {});
     },
     "isn't quantised"},
    {"SevenDimensions",
     [](GraphBuilder& b) {
       Unary(b, NSDK_RESCALE, {1, 1, 1, 1, 1, 1, 2}, {1, 1, 1, 1, 1, 1, 2});
     },
     "at most 6"},
    {"LargeDimension", [](GraphBuilder& b) { Unary(b, NSDK_RESCALE, {(1 << 24) + 1}, {(1 << 24) + 1}); }, "2^24"},
    {"UnknownKind",
     [](GraphBuilder& b) {
       Unary(b, 999, {2, 4}, {2, 4});
     },
     "kind 999"},
    {"UnknownKey",
     [](GraphBuilder& b) {
       Unary(b, NSDK_SOFTMAX, {2, 4}, {2, 4}, {{NSDK_GROUPS, {1}}});
     },
     "parameter 4"},
    {"ConvOverThreeDimensions",
     [](GraphBuilder& b) {
       Conv(b, {1, 2, 4, 4, 4}, {2, 2, 1, 1, 1}, {1, 2, 4, 4, 4});
     },
     "one or two dimensions"},
    {"FloatWeights",
     [](GraphBuilder& b) {
       Conv(b, {1, 2, 4, 4}, {2, 2, 1, 1}, {1, 2, 4, 4}, NSDK_FLOAT32);
     },
     "weights are float32"},
    {"FactorTooLarge",
     [](GraphBuilder& b) {
       Conv(b, {1, 2, 4, 4}, {2, 2, 1, 1}, {1, 2, 4, 4}, NSDK_INT8, 1e-30f);
     },
     "2^28"},
    {"WeightsThatAreNoConstant",
     [](GraphBuilder& b) {
       const uint32_t x = b.Input("x", NSDK_INT8, {1, 2, 4, 4}, kQ), w = b.Input("w", NSDK_INT8, {2, 2, 1, 1}, kQ);
       const uint32_t y = b.Value(NSDK_INT8, {1, 2, 4, 4}, kQ);
       b.Op(NSDK_CONV, {x, w}, {y});
       b.Output(y, "y");
     },
     "aren't constant"},
    {"ScalesOfInputChannels",
     [](GraphBuilder& b) {
       const uint32_t x = b.Input("x", NSDK_INT8, {1, 2, 4, 4}, kQ);
       const uint32_t w = b.RandomConstant(NSDK_INT8, {3, 2, 1, 1}, kQ);
       b.PerChannel(w, 1, {0.1f, 0.2f});
       const uint32_t y = b.Value(NSDK_INT8, {1, 3, 4, 4}, kQ);
       b.Op(NSDK_CONV, {x, w}, {y});
       b.Output(y, "y");
     },
     "along output channels"},
    {"BiasOfAnotherScale",
     [](GraphBuilder& b) {
       const uint32_t x = b.Input("x", NSDK_INT8, {1, 2}, kQ);
       const uint32_t w = b.RandomConstant(NSDK_INT8, {2, 3}, kQ), c = b.RandomConstant(NSDK_INT32, {3}, {0.5f, 0});
       const uint32_t y = b.Value(NSDK_INT8, {1, 3}, kQ);
       b.Op(NSDK_MATMUL, {x, w, c}, {y});
       b.Output(y, "y");
     },
     "the bias has scale"},
    {"LargePool",
     [](GraphBuilder& b) {
       Unary(b, NSDK_AVERAGE_POOL, {1, 1, 200, 200}, {1, 1, 1, 1}, {{NSDK_KERNEL, {200, 200}}});
     },
     "16,384"},
    {"LongRow",
     [](GraphBuilder& b) {
       Unary(b, NSDK_SOFTMAX, {1, 1 << 20}, {1, 1 << 20}, {{NSDK_AXIS, {1}}});
     },
     "a row has 1048576 elements"},
    {"ResizeOfBatches",
     [](GraphBuilder& b) {
       Unary(b, NSDK_RESIZE, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 10});
     },
     "one or two dimensions"},
    {"TableOfAnotherType",
     [](GraphBuilder& b) {
       const uint32_t x = b.Input("x", NSDK_INT8, {4}, kQ), t = b.RandomConstant(NSDK_INT16, {256}, kQ);
       const uint32_t y = b.Value(NSDK_INT16, {4}, kQ);
       b.Op(NSDK_LOOKUP, {x, t}, {y});
       b.Output(y, "y");
     },
     "int16"},
};

class Support : public testing::TestWithParam<Refusal> {};

TEST_P(Support, IsRefusedWithAReasonByCheckAndByCompile) {
  GraphBuilder b("net");
  GetParam().build(b);
  const NsdkGraph* graph = b.Graph();
  try {
    CheckOp(*graph, 0, {});
    ADD_FAILURE() << "the operator was taken, expected: " << GetParam().why;
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), HasSubstr(GetParam().why));
  }
  EXPECT_THROW(Compile(*graph, {}), Unsupported);
}

INSTANTIATE_TEST_SUITE_P(Npusim, Support, testing::ValuesIn(kRefusals),
                         [](const auto& info) { return info.param.name; });

TEST(Check, NeedsNoDataOfConstants) {
  GraphBuilder b("net");
  const uint32_t x = b.Input("x", NSDK_INT8, {1, 8, 9, 9}, kQ), w = b.RandomConstant(NSDK_INT8, {8, 8, 3, 3}, kQ);
  const uint32_t y = b.Value(NSDK_INT8, {1, 8, 7, 7}, kQ), z = b.Value(NSDK_INT8, {1, 8, 7, 7}, kQ);
  const uint32_t table = b.RandomConstant(NSDK_INT8, {256}, kQ);
  b.Op(NSDK_CONV, {x, w}, {y});
  b.Op(NSDK_LOOKUP, {y, table}, {z});
  b.Output(z, "z");
  const NsdkGraph* graph = b.Graph();
  for (const uint32_t constant : {w, table}) const_cast<NsdkTensor&>(graph->tensors[constant]).data = nullptr;
  EXPECT_NO_THROW(CheckOp(*graph, 0, {}));
  EXPECT_NO_THROW(CheckOp(*graph, 1, {}));
}

TEST(Check, ShapesThatDoNotMatchBreakTheRules) {
  const auto invalid = [](const std::function<void(GraphBuilder&)>& build, const char* why) {
    GraphBuilder b("net");
    build(b);
    try {
      CheckOp(*b.Graph(), 0, {});
      ADD_FAILURE() << "the operator was taken, expected: " << why;
    } catch (const InvalidGraph& e) {
      EXPECT_THAT(e.what(), HasSubstr(why));
    }
  };
  invalid([](GraphBuilder& b) { Conv(b, {1, 2, 4, 4}, {2, 2, 3, 3}, {1, 2, 4, 4}); }, "its parameters make 2");
  invalid([](GraphBuilder& b) { Conv(b, {1, 3, 4, 4}, {2, 2, 1, 1}, {1, 2, 4, 4}); }, "doesn't match 3 and 2 channels");
  invalid([](GraphBuilder& b) { Unary(b, NSDK_TRANSPOSE, {2, 3}, {3, 2}, {{NSDK_PERM, {1, 1}}}); }, "isn't one");
  invalid([](GraphBuilder& b) { Unary(b, NSDK_RESHAPE, {2, 3}, {7}); }, "differ in elements");
  invalid(
      [](GraphBuilder& b) {
        Unary(b, NSDK_SLICE, {6}, {3}, {{NSDK_STARTS, {1}}, {NSDK_STEPS, {3}}});
      },
      "it takes 3 from 1 in steps of 3");
  invalid([](GraphBuilder& b) { Unary(b, NSDK_PAD, {4}, {7}, {{NSDK_PADS, {1, 1}}}); }, "don't make [7]");
  invalid([](GraphBuilder& b) { Unary(b, NSDK_REDUCE_MEAN, {4, 4}, {4, 4}, {{NSDK_AXES, {1}}}); }, "expected [4, 1]");
}

}  // namespace
}  // namespace epiphyte::npusim
