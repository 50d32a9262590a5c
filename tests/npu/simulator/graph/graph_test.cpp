// A graph is copied completely. A violation of a rule of nsdk.h is found, with its place and the value found.
#include "plugins/npu/simulator/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/npu/simulator/graph_builder.h"

namespace epiphyte::npusim {
namespace {

using testing::HasSubstr;

// The graph y = relu(conv(x, w, b)).
class SmallGraph : public testing::Test {
 protected:
  SmallGraph() {
    x = b.Input("x", NSDK_INT8, {1, 3, 8, 8}, {0.5f, 2});
    w = b.RandomConstant(NSDK_INT8, {4, 3, 3, 3}, {0.01f, 0});
    b.PerChannel(w, 0, {0.01f, 0.02f, 0.03f, 0.04f});
    bias = b.RandomConstant(NSDK_INT32, {4}, {0.005f, 0});
    y = b.Value(NSDK_INT8, {1, 4, 8, 8}, {0.25f, -128});
    b.Op(NSDK_CONV, {x, w, bias}, {y}, {{NSDK_PADS, {1, 1, 1, 1}}, {NSDK_LOW, {-128}}}, "conv");
    b.Output(y, "y");
    graph = *b.Graph();
    tensors.assign(graph.tensors, graph.tensors + graph.tensor_count);
    op = graph.ops[0];
    graph.tensors = tensors.data();
    graph.ops = &op;
  }

  void ExpectInvalid(const std::string& why) {
    try {
      CopyGraph(graph);
      ADD_FAILURE() << "the graph was taken, expected: " << why;
    } catch (const InvalidGraph& e) {
      EXPECT_THAT(e.what(), HasSubstr(why));
    }
  }

  GraphBuilder b{"net"};
  uint32_t x, w, bias, y;
  NsdkGraph graph;
  std::vector<NsdkTensor> tensors;
  NsdkOp op;
};

TEST_F(SmallGraph, IsCopied) {
  const Graph copy = CopyGraph(graph);
  EXPECT_EQ(copy.name, "net");
  ASSERT_EQ(copy.tensors.size(), 4u);
  EXPECT_EQ(copy.tensors[x].dims, (std::vector<int64_t>{1, 3, 8, 8}));
  EXPECT_EQ(copy.tensors[x].ZeroPoint(), 2);
  EXPECT_FALSE(copy.tensors[x].constant);
  EXPECT_EQ(copy.tensors[w].Scale(2), 0.03f);
  EXPECT_EQ(copy.tensors[w].data.size(), 108u);
  EXPECT_EQ(copy.tensors[w].Elements(), 108);
  EXPECT_EQ(copy.ops[0].name, "conv");
  EXPECT_EQ(copy.ops[0].Ints(NSDK_PADS, 4, 0), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(copy.ops[0].Ints(NSDK_STRIDES, 2, 1), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(copy.ops[0].Int(NSDK_LOW, 7), -128);
  EXPECT_THROW(copy.ops[0].Ints(NSDK_PADS, 2, 0), Unsupported);
}

TEST_F(SmallGraph, StructsOfALaterHeaderAreRead) {
  struct Longer {
    NsdkTensor tensor;
    uint64_t more[3] = {~0ull, ~0ull, ~0ull};
  };
  std::vector<Longer> longer;
  for (const NsdkTensor& tensor : tensors) {
    longer.push_back({tensor});
    longer.back().tensor.struct_size = sizeof(Longer);
  }
  graph.tensors = &longer[0].tensor;
  EXPECT_EQ(CopyGraph(graph).tensors[w].dims, (std::vector<int64_t>{4, 3, 3, 3}));
}

TEST_F(SmallGraph, WhatAnEarlierHeaderDoesNotHaveIsZero) {
  graph.struct_size = offsetof(NsdkGraph, output_count);
  EXPECT_TRUE(CopyGraph(graph).outputs.empty());
}

TEST_F(SmallGraph, AQueryLooksAtItsOperatorAlone) {
  tensors[w].data = nullptr;
  const Graph copy = CopyOp(graph, 0);
  EXPECT_EQ(copy.ops.size(), 1u);
  EXPECT_TRUE(copy.tensors[copy.ops[0].inputs[1]].constant);
  EXPECT_EQ(copy.inputs.size(), 1u);
  EXPECT_THROW(CopyOp(graph, 1), InvalidGraph);
  ExpectInvalid("constant without data");
}

TEST_F(SmallGraph, StructsWithoutASizeAreFound) {
  op.struct_size = 0;
  ExpectInvalid("struct_size");
  op.struct_size = sizeof(NsdkOp);
  tensors[2].struct_size = 8;
  ExpectInvalid("tensor 2 has struct_size 8");
}

TEST_F(SmallGraph, NullsAreFound) {
  const NsdkTensor* given = graph.tensors;
  graph.tensors = nullptr;
  ExpectInvalid("null");
  graph.tensors = given;
  tensors[x].dims = nullptr;
  ExpectInvalid("null");
  tensors[x] = b.Graph()->tensors[x];
  tensors[x].scales = nullptr;
  ExpectInvalid("null");
  tensors[x] = b.Graph()->tensors[x];
  op.inputs = nullptr;
  ExpectInvalid("null");
}

TEST_F(SmallGraph, TypesRanksAndDimensionsAreChecked) {
  tensors[x].type = 77;
  ExpectInvalid("type 77");
  tensors[x].type = NSDK_INT8;
  tensors[x].rank = 9;
  ExpectInvalid("rank 9");
  tensors[x].rank = 4;
  const int64_t zero[] = {1, 3, 0, 8}, huge[] = {int64_t{1} << 31, int64_t{1} << 31, 8, 8};
  tensors[x].dims = zero;
  ExpectInvalid("at least 1");
  tensors[x].dims = huge;
  ExpectInvalid("64 bits");
}

TEST_F(SmallGraph, ScalesAndZeroPointsAreChecked) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf(""), zero = 0, negative = -1;
  for (const float* scale : {&inf, &nan, &zero, &negative}) {
    tensors[x].scales = scale;
    ExpectInvalid("finite and positive");
  }
  const float fine = 1;
  tensors[x].scales = &fine;
  const int32_t outside = 128;
  tensors[x].zero_points = &outside;
  ExpectInvalid("zero point of 128");
  tensors[x].zero_points = nullptr;
  EXPECT_EQ(CopyGraph(graph).tensors[x].ZeroPoint(), 0);
  tensors[w].scale_count = 3;
  ExpectInvalid("3 scales");
}

TEST_F(SmallGraph, ConstantsHaveTheirSize) {
  tensors[w].data_size = 107;
  ExpectInvalid("107 bytes");
}

TEST_F(SmallGraph, IndicesAreChecked) {
  const uint32_t beyond[] = {x, 4, bias};
  const uint32_t* given = op.inputs;
  op.inputs = beyond;
  ExpectInvalid("tensor 4 of 4");
  op.inputs = given;
  const uint32_t output = 9;
  graph.outputs = &output;
  ExpectInvalid("tensor 9 of 4");
}

TEST_F(SmallGraph, EachTensorIsWrittenOnceAndBeforeItIsRead) {
  const uint32_t itself[] = {y, w, bias}, input = x;
  const uint32_t *inputs = op.inputs, *outputs = op.outputs;
  op.inputs = itself;
  ExpectInvalid("before it is written");
  op.inputs = inputs;
  op.outputs = &input;
  ExpectInvalid("written already");
  op.outputs = outputs;
  graph.op_count = 0;
  ExpectInvalid("isn't written by anything");
  const uint32_t constant = w;
  graph.inputs = &constant;
  ExpectInvalid("or a constant");
}

TEST_F(SmallGraph, InputsAndOutputsHaveNamesOfTheirOwn) {
  tensors[y].name = "x";
  ExpectInvalid("two inputs or outputs are named \"x\"");
  tensors[y].name = nullptr;
  ExpectInvalid("no name");
  tensors[y].name = "y";
  graph.name = "";
  ExpectInvalid("1 to 1,023");
}

TEST_F(SmallGraph, WrongCountsAreFoundBeforeAnyRead) {
  graph.tensor_count = UINT32_MAX;
  ExpectInvalid("2^22");
  graph.tensor_count = 4;
  op.input_count = UINT32_MAX;
  ExpectInvalid("too many");
  op.input_count = 3;
  op.param_count = 257;
  ExpectInvalid("257 parameters");
}

}  // namespace
}  // namespace epiphyte::npusim
