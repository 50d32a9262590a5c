// Rows, sums and windows with more elements than the passes that Mesa's software device allows a loop: it leaves loops
// silently after 65,535 (Capabilities::max_passes). The cases have few results, to be fast.
#include "tests/vulkan/lavapipe.h"
#include "tests/vulkan/ops/one_node.h"

namespace epiphyte::test {
namespace {

class LongLoops : public NodeTest {};

constexpr int64_t kLong = 70'001;
const std::string kAll = "int64[1] = {1}";

TEST_F(LongLoops, Reductions) {
  for (const std::string op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"}) {
    ExpectLikeCpu({.op = op, .inputs = {{1, kLong}}, .others = {kAll}});
    ExpectLikeCpu({.op = op, .inputs = {{300, kLong}}, .others = {kAll}});
    ExpectLikeCpu({.op = op, .inputs = {{kLong, 100}}, .others = {"int64[1] = {0}"}});
  }
  ExpectLikeCpu(R"(g (float[2,A] x) => (int64[B,C] y) { y = ArgMax <axis=1> (x) })",
                {Random(DataType::kFloat, {2, kLong})});
  ExpectLikeCpu(R"(g (float[300,A] x) => (int64[B,C] y) { y = ArgMin <axis=1> (x) })",
                {Random(DataType::kFloat, {300, kLong})});
}

TEST_F(LongLoops, Softmax) {
  for (const std::string op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    ExpectLikeCpu({.op = op + " <axis=1>", .inputs = {{2, kLong}}});
    ExpectLikeCpu({.op = op + " <axis=0>", .inputs = {{kLong, 3}}});
    ExpectLikeCpu({.op = op + " <axis=1>", .inputs = {{2, 30'000}}});
  }
}

TEST_F(LongLoops, Normalizations) {
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{2, kLong}, {kLong}, {kLong}}});
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{2, 30'000}, {30'000}, {30'000}}});
  ExpectLikeCpu({.op = "RMSNormalization <axis=1>", .inputs = {{2, kLong}, {kLong}}, .opset = 23});
  ExpectLikeCpu({.op = "InstanceNormalization", .inputs = {{1, 2, 300, 301}, {2}, {2}}});
  ExpectLikeCpu({.op = "GroupNormalization <num_groups=1>", .inputs = {{1, 2, 300, 301}, {2}, {2}}, .opset = 21});
  ExpectLikeCpu({.op = "BatchNormalization", .inputs = {{1, 2, 300, 301}, {2}, {2}, {2}, {2}}});
  ExpectLikeCpu({.op = "MeanVarianceNormalization <axes=[1]>", .inputs = {{2, kLong}}});
  ExpectLikeCpu({.op = "LpNormalization <axis=1, p=2>", .inputs = {{2, kLong}}});
}

TEST_F(LongLoops, Pools) {
  for (const std::string op : {"GlobalAveragePool", "GlobalMaxPool"})
    ExpectLikeCpu({.op = op, .inputs = {{1, 2, 300, 301}}});
}

TEST_F(LongLoops, Products) {
  for (const int64_t m : {1, 3}) {
    ExpectLikeCpu({.op = "MatMul", .inputs = {{m, kLong}, {kLong, 5}}});
    ExpectLikeCpu({.op = "MatMul", .inputs = {{m, 270'004}, {270'004, 8}}});
  }
  ExpectLikeCpu({.op = "MatMul", .inputs = {{16, 270'004}, {270'004, 8}}});
  ExpectLikeCpu({.op = "Gemm <transB=1>", .inputs = {{2, 270'004}, {8, 270'004}}});
  ExpectLikeCpu({.op = "Einsum <equation=\"ab,ab->a\">", .inputs = {{2, kLong}, {2, kLong}}});
}

TEST_F(LongLoops, Attention) {
  ExpectLikeCpu(
      R"(g (float[1,1,2,8] q, float[1,1,A,8] k, float[1,1,A,8] v) => (float[1,1,2,8] y) { y = Attention (q, k, v) })",
      {Random(DataType::kFloat, {1, 1, 2, 8}), Random(DataType::kFloat, {1, 1, kLong, 8}, 2),
       Random(DataType::kFloat, {1, 1, kLong, 8}, 3)},
      {.opset = 23});
}

TEST_F(LongLoops, ListsThatAreSorted) {
  for (const char* k : {"1", "3000"})
    ExpectLikeCpu({.op = "TopK <axis=1>",
                   .inputs = {{2, kLong}},
                   .others = {std::string("int64[1] = {") + k + "}"},
                   .outputs = 2});
}

TEST_F(LongLoops, RangesOfWholeTensors) {
  ExpectLikeCpu(R"(g (float[A] x) => (uint8[A] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) })",
                {Random(DataType::kFloat, {9'000'000})});
}

// When no kernel can divide an invocation's loops, another provider gets the node.
TEST_F(LongLoops, WhatNoLoopReachesIsLeftToOthers) {
  if (!vulkan::IsLavapipe()) GTEST_SKIP() << "other devices' loops have no end";
  const auto expect_left = [&](const std::string& types, const std::string& node, const std::string& passes) {
    SCOPED_TRACE(node);
    EXPECT_THAT(WhyNot("g (" + types + ") => (" + (types[0] == 'u' ? "int32" : "float") +
                       "[] y) <int64 axis = {1}> { y = " + node + " }"),
                testing::AllOf(testing::HasSubstr("would make " + passes + " passes of loops"),
                               testing::HasSubstr("run the node on another provider")));
  };
  expect_left("float[16,70001] a, float[70001,5] b", "MatMul (a, b)", "70001");
  expect_left("float[1,70001,1,2] x, float[3,70001,1,1] w", "Conv (x, w)", "70004");
  expect_left("float[1,8000,3,3] x, float[3,8000,3,3] w", "Conv (x, w)", "72013");
  expect_left("float[1,2,300,301] x, float[2,1,300,300] w", "Conv <group=2> (x, w)", "90301");
  expect_left("float[1,70001,1,2] x, float[70001,3,1,1] w", "ConvTranspose (x, w)", "70004");
  expect_left("float[1,2,300,302] x", "AveragePool <kernel_shape=[300,301]> (x)", "90601");
  expect_left("float[1,2,70001] x", "MaxPool <kernel_shape=[70001]> (x)", "70003");
  expect_left("float[1,2,300,302] x", "GlobalLpPool (x)", "90901");
  expect_left("float[2,70001] x", "CumSum (x, axis)", "70001");
  expect_left("float[2,70001] x", "Einsum <equation=\"ab->a\"> (x)", "140002");
  expect_left("uint8[2,70001] a, uint8[70001,3] b", "MatMulInteger (a, b)", "70001");
  expect_left("uint8[1,70001,1,2] x, uint8[2,70001,1,1] w", "ConvInteger (x, w)", "280004");
}

// When shapes are known only at run time, the run reports the error.
TEST_F(LongLoops, ARunOfWhatNoLoopReachesFails) {
  if (!vulkan::IsLavapipe()) GTEST_SKIP() << "other devices' loops have no end";
  try {
    RunVulkan(R"(g (float[2,A] x) => (float[2,A] y) <int64 axis = {1}> { y = CumSum (x, axis) })",
              {Random(DataType::kFloat, {2, kLong})});
    FAIL() << "it ran";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("would make 70001 passes of loops"));
  }
}

TEST_F(LongLoops, Moves) {
  ExpectLikeCpu({.op = "Transpose <perm=[1,0]>", .inputs = {{3, kLong}}});
  ExpectLikeCpu({.op = "Concat <axis=1>", .inputs = {{1, 200'001}, {1, 200'003}}});
  ExpectLikeCpu({.op = "Pad", .inputs = {{1, 200'001}}, .others = {"int64[4] = {1, 2, 1, 3}"}});
  ExpectLikeCpu({.op = "Tile", .inputs = {{1, 200'001}}, .others = {"int64[2] = {2, 2}"}});
  ExpectLikeCpu({.op = "Gather <axis=0>", .inputs = {{3, 200'001}}, .others = {"int64[2] = {2, 0}"}});
  ExpectLikeCpu({.op = "Slice",
                 .inputs = {{3, 200'001}},
                 .others = {"int64[1] = {1}", "int64[1] = {200000}", "int64[1] = {1}", "int64[1] = {1}"}});
  ExpectLikeCpu({.op = "Resize <mode=\"nearest\">",
                 .inputs = {{1, 1, 2, 70'001}},
                 .others = {"float[0] = {}", "float[4] = {1, 1, 1, 2}"}});
}

}  // namespace
}  // namespace epiphyte::test
