// Graphs that break the rules or ask for the impossible: every function returns with a status and a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/npu/simulator/graph_builder.h"
#include "tests/npu/simulator/sdk/session.h"

namespace epiphyte::npusim {
namespace {

constexpr Quantisation kQ{0.1f, 0};
constexpr int64_t kInts[] = {std::numeric_limits<int64_t>::min(), -1, 0, 2, 1 << 24, int64_t{1} << 32, int64_t{1} << 62,
                             std::numeric_limits<int64_t>::max()};
constexpr float kFloats[] = {0.0f, -1.0f, FLT_MIN / 1024, FLT_MAX, INFINITY, -INFINITY, NAN};

struct Answer {
  NsdkStatus query, compile;
  std::string reason;
};

// Asks query_op about the last operator of a graph, and compiles the graph.
Answer Ask(const Session& session, const NsdkGraph& graph) {
  Answer answer;
  Reason query, compile;
  answer.query = Api().query_op(session.context(), &graph, graph.op_count - 1, &query);
  NsdkCompiled* compiled = nullptr;
  answer.compile = Api().compile(session.context(), &graph, nullptr, &compiled, &compile);
  EXPECT_EQ(compiled != nullptr, answer.compile == NSDK_OK);
  Api().compiled_destroy(compiled);
  for (const auto& [status, reason] : {std::pair{answer.query, query.text}, {answer.compile, compile.text}}) {
    EXPECT_TRUE(status == NSDK_OK || status == NSDK_INVALID_ARGUMENT || status == NSDK_UNSUPPORTED) << status;
    EXPECT_EQ(status == NSDK_OK, reason[0] == 0) << reason;
  }
  answer.reason = compile.text;
  return answer;
}

// A supported operator of each kind, with as many of its parameters as possible.
struct Kind {
  const char* name;
  std::function<void(GraphBuilder& b, std::vector<OpParam> more)> build;
};

void Put(GraphBuilder& b, uint32_t kind, std::vector<uint32_t> inputs, std::vector<int64_t> dims,
         std::vector<OpParam> params, std::vector<OpParam> more) {
  // `more` replaces parameters, because a parameter that is given twice breaks a rule of its own.
  for (OpParam& one : more) {
    std::erase_if(params, [&](const OpParam& p) { return p.key == one.key; });
    params.push_back(std::move(one));
  }
  const uint32_t y = b.Value(NSDK_INT8, std::move(dims), kQ);
  b.Op(kind, std::move(inputs), {y}, std::move(params), "op");
  b.Output(y, "y");
}

uint32_t Image(GraphBuilder& b) { return b.Input("x", NSDK_INT8, {1, 4, 6, 6}, kQ); }

const Kind kKinds[] = {
    {"Conv",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_CONV, {Image(b), b.RandomConstant(NSDK_INT8, {8, 4, 3, 3}, kQ)}, {1, 8, 4, 4}, {}, std::move(more));
     }},
    {"ConvTranspose",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_CONV_TRANSPOSE, {Image(b), b.RandomConstant(NSDK_INT8, {4, 8, 3, 3}, kQ)}, {1, 8, 8, 8}, {},
           std::move(more));
     }},
    {"MatMul",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_MATMUL, {b.Input("x", NSDK_INT8, {4, 4}, kQ), b.RandomConstant(NSDK_INT8, {4, 4}, kQ)}, {4, 4}, {},
           std::move(more));
     }},
    {"MaxPool",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_MAX_POOL, {Image(b)}, {1, 4, 5, 5}, {{NSDK_KERNEL, {2, 2}}}, std::move(more));
     }},
    {"AveragePool",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_AVERAGE_POOL, {Image(b)}, {1, 4, 5, 5}, {{NSDK_KERNEL, {2, 2}}}, std::move(more));
     }},
    {"Add",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       const uint32_t x = Image(b);
       Put(b, NSDK_ADD, {x, x}, {1, 4, 6, 6}, {}, std::move(more));
     }},
    {"Lookup",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_LOOKUP, {Image(b), b.RandomConstant(NSDK_INT8, {256}, kQ)}, {1, 4, 6, 6}, {}, std::move(more));
     }},
    {"Concat",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       const uint32_t x = Image(b);
       Put(b, NSDK_CONCAT, {x, x}, {1, 8, 6, 6}, {{NSDK_AXIS, {1}}}, std::move(more));
     }},
    {"Slice",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_SLICE, {Image(b)}, {1, 4, 3, 6}, {{NSDK_STARTS, {0, 0, 1, 0}}}, std::move(more));
     }},
    {"Pad",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_PAD, {Image(b)}, {1, 4, 8, 6}, {{NSDK_PADS, {0, 0, 1, 0, 0, 0, 1, 0}}}, std::move(more));
     }},
    {"Transpose",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_TRANSPOSE, {Image(b)}, {6, 6, 4, 1}, {}, std::move(more));
     }},
    {"Resize",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_RESIZE, {Image(b)}, {1, 4, 12, 12}, {}, std::move(more));
     }},
    {"Softmax",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_SOFTMAX, {Image(b)}, {1, 4, 6, 6}, {}, std::move(more));
     }},
    {"LayerNorm",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_LAYER_NORM, {Image(b), b.RandomConstant(NSDK_FLOAT32, {6}, {})}, {1, 4, 6, 6}, {{NSDK_AXIS, {3}}},
           std::move(more));
     }},
    {"ReduceMean",
     [](GraphBuilder& b, std::vector<OpParam> more) {
       Put(b, NSDK_REDUCE_MEAN, {Image(b)}, {1, 4, 1, 1}, {{NSDK_AXES, {2, 3}}}, std::move(more));
     }},
};

class Hostile : public testing::TestWithParam<Kind> {
 protected:
  Session session{Options{{"effort", "fast"}}};
};

TEST_P(Hostile, OperatorsAreTakenAsTheyAre) {
  GraphBuilder b("net");
  GetParam().build(b, {});
  const Answer answer = Ask(session, *b.Graph());
  EXPECT_EQ(answer.query, NSDK_OK);
  EXPECT_EQ(answer.compile, NSDK_OK) << answer.reason;
}

TEST_P(Hostile, ParametersOfAnyNumberAndSizeHaveAnAnswer) {
  int refused = 0;
  for (uint32_t key = 0; key <= NSDK_HIGH + 1; ++key) {
    for (const int64_t value : kInts) {
      for (const size_t count : {0, 1, 2, 4, 8}) {
        GraphBuilder b("net");
        GetParam().build(b, {{key, std::vector<int64_t>(count, value)}});
        const Answer answer = Ask(session, *b.Graph());
        EXPECT_EQ(answer.query, answer.compile)
            << "key " << key << " of " << count << " times " << value << ": " << answer.reason;
        refused += answer.compile != NSDK_OK;
      }
    }
    for (const float value : kFloats) {
      for (const size_t count : {1, 4}) {
        GraphBuilder b("net");
        GetParam().build(b, {{key, {}, std::vector<float>(count, value)}});
        const Answer answer = Ask(session, *b.Graph());
        EXPECT_EQ(answer.query, answer.compile) << "key " << key << " of " << count << " times " << value;
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST_P(Hostile, DimensionsOfAnySizeHaveAnAnswer) {
  GraphBuilder b("net");
  GetParam().build(b, {});
  const NsdkGraph graph = *b.Graph();
  const std::vector<NsdkTensor> given(graph.tensors, graph.tensors + graph.tensor_count);
  for (uint32_t tensor = 0; tensor < graph.tensor_count; ++tensor) {
    for (uint32_t dim = 0; dim < given[tensor].rank; ++dim) {
      for (const int64_t value : kInts) {
        std::vector<int64_t> dims(given[tensor].dims, given[tensor].dims + given[tensor].rank);
        if (dims[dim] == value) continue;
        dims[dim] = value;
        std::vector<NsdkTensor> tensors = given;
        tensors[tensor].dims = dims.data();
        NsdkGraph changed = graph;
        changed.tensors = tensors.data();
        const Answer answer = Ask(session, changed);
        EXPECT_EQ(answer.query, answer.compile) << "tensor " << tensor << ", dimension " << dim << ": " << value;
        if (value < 1 || value > 1 << 24) {
          EXPECT_NE(answer.compile, NSDK_OK) << value;
        }
      }
    }
  }
}

TEST_P(Hostile, ScalesAndZeroPointsOfAnySizeHaveAnAnswer) {
  GraphBuilder b("net");
  GetParam().build(b, {});
  const NsdkGraph graph = *b.Graph();
  const std::vector<NsdkTensor> given(graph.tensors, graph.tensors + graph.tensor_count);
  for (uint32_t tensor = 0; tensor < graph.tensor_count; ++tensor) {
    std::vector<NsdkTensor> tensors = given;
    NsdkGraph changed = graph;
    changed.tensors = tensors.data();
    for (const float scale : {1e-45f, FLT_MIN, 0.0f, -0.1f, FLT_MAX, INFINITY, NAN}) {
      tensors[tensor].scale_count = 1;
      tensors[tensor].scales = &scale;
      const Answer answer = Ask(session, changed);
      EXPECT_EQ(answer.query, answer.compile) << "tensor " << tensor << ", scale " << scale;
      if (!(std::isfinite(scale) && scale > 0)) {
        EXPECT_EQ(answer.compile, NSDK_INVALID_ARGUMENT) << scale;
      }
    }
    tensors = given;
    for (const int32_t zero_point : {INT32_MIN, -129, 128, INT32_MAX}) {
      if (given[tensor].type != NSDK_INT8) continue;
      tensors[tensor].zero_points = &zero_point;
      EXPECT_EQ(Ask(session, changed).compile, NSDK_INVALID_ARGUMENT) << zero_point;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Npusim, Hostile, testing::ValuesIn(kKinds), [](const auto& info) { return info.param.name; });

TEST(HostileGraph, TensorsThatNoOperatorTouchesAreNoLargerThanABlobHas) {
  GraphBuilder b("net");
  const uint32_t x = b.Input("x", NSDK_INT8, {4}, kQ), y = b.Value(NSDK_INT8, {4}, kQ);
  b.Input("unused", NSDK_INT8, {int64_t{1} << 45}, kQ);
  b.Op(NSDK_RESCALE, {x}, {y});
  b.Output(y, "y");
  const Answer answer = Ask(Session(), *b.Graph());
  EXPECT_EQ(answer.compile, NSDK_UNSUPPORTED);
  EXPECT_THAT(answer.reason, testing::HasSubstr("[35184372088832]"));
}

TEST(HostileGraph, AnOperatorThatWritesWhatItReadsOrAConstantIsInvalid) {
  GraphBuilder loop("net");
  const uint32_t y = loop.Value(NSDK_INT8, {4}, kQ);
  loop.Op(NSDK_RESCALE, {y}, {y});
  loop.Output(y, "y");
  EXPECT_EQ(Ask(Session(), *loop.Graph()).query, NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(Session(), *loop.Graph()).compile, NSDK_INVALID_ARGUMENT);
  GraphBuilder constant("net");
  const uint32_t x = constant.Input("x", NSDK_INT8, {4}, kQ), c = constant.RandomConstant(NSDK_INT8, {4}, kQ);
  constant.Op(NSDK_RESCALE, {x}, {c});
  constant.Output(c, "y");
  EXPECT_EQ(Ask(Session(), *constant.Graph()).query, NSDK_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(Session(), *constant.Graph()).compile, NSDK_INVALID_ARGUMENT);
  // Each operator reads the other's output.
  GraphBuilder circle("net");
  const uint32_t p = circle.Value(NSDK_INT8, {4}, kQ), q = circle.Value(NSDK_INT8, {4}, kQ);
  circle.Op(NSDK_RESCALE, {p}, {q});
  circle.Op(NSDK_RESCALE, {q}, {p});
  circle.Output(p, "y");
  EXPECT_EQ(Ask(Session(), *circle.Graph()).compile, NSDK_INVALID_ARGUMENT);
}

TEST(HostileGraph, ALookupHasATableThatIsConstant) {
  for (const bool given : {false, true}) {
    GraphBuilder b("net");
    const uint32_t x = b.Input("x", NSDK_INT8, {4}, kQ), y = b.Value(NSDK_INT8, {4}, kQ);
    std::vector<uint32_t> inputs = {x};
    if (given) inputs.push_back(b.Input("table", NSDK_INT8, {256}, kQ));
    b.Op(NSDK_LOOKUP, inputs, {y});
    b.Output(y, "y");
    const Answer answer = Ask(Session(), *b.Graph());
    EXPECT_NE(answer.query, NSDK_OK) << given;
    EXPECT_NE(answer.compile, NSDK_OK) << given;
  }
}

// A dimension of one element takes no steps. Multiplying its stride by the step would overflow.
TEST(HostileGraph, StepsOfOneElementMayBeAny) {
  GraphBuilder b("net");
  uint32_t last = b.Input("x", NSDK_INT8, {1, 32}, kQ);
  for (int i = 0; i < 4; ++i) {
    const uint32_t y = b.Value(NSDK_INT8, {1, 32}, kQ);
    b.Op(NSDK_SLICE, {last}, {y}, {{NSDK_STEPS, {i % 2 == 0 ? 1 << 24 : -(1 << 24), 1}}});
    last = y;
  }
  const uint32_t out = b.Value(NSDK_INT8, {1, 32}, {0.2f, 0});
  b.Op(NSDK_RESCALE, {last}, {out});
  b.Output(out, "y");
  const Session session;
  const Bytes blob = session.Blob({b.Graph()});
  const auto program = session.Load(blob);
  EXPECT_EQ(Bound(program.get(), 0, blob, {Bytes(32, 8)}).Run()[0], Bytes(32, 4));
}

}  // namespace
}  // namespace epiphyte::npusim
