// Pools in forms that ONNX's own cases lack.
#include "tests/vulkan/ops/one_node.h"

namespace epiphyte::test {
namespace {

class Pools : public NodeTest {};

TEST_F(Pools, MaxPoolOfEachRank) {
  ExpectLikeCpu({.op = "MaxPool <kernel_shape=[3], strides=[2], pads=[1,1]>", .inputs = {{2, 3, 11}}, .outputs = 2});
  ExpectLikeCpu({.op = "MaxPool <kernel_shape=[3,2], pads=[1,0,1,1], dilations=[2,1]>", .inputs = {{2, 3, 8, 7}}, .outputs = 2});
  ExpectLikeCpu({.op = "MaxPool <kernel_shape=[2,3,2], strides=[1,2,2]>", .inputs = {{1, 2, 5, 6, 7}}, .outputs = 2});
}

TEST_F(Pools, MaxPoolWithPartialWindows) {
  ExpectLikeCpu({.op = "MaxPool <kernel_shape=[3,3], strides=[2,2], ceil_mode=1>", .inputs = {{1, 2, 8, 8}}, .outputs = 2});
}

TEST_F(Pools, MaxPoolCountsIndicesInColumns) {
  ExpectLikeCpu({.op = "MaxPool <kernel_shape=[2,2], storage_order=1>", .inputs = {{2, 2, 5, 6}}, .outputs = 2});
}

TEST_F(Pools, AveragePoolOfEachRank) {
  ExpectLikeCpu({.op = "AveragePool <kernel_shape=[4], strides=[2], pads=[1,2]>", .inputs = {{2, 3, 11}}});
  ExpectLikeCpu({.op = "AveragePool <kernel_shape=[3,2], pads=[1,1,1,0], strides=[2,1]>", .inputs = {{2, 3, 8, 7}}});
  ExpectLikeCpu({.op = "AveragePool <kernel_shape=[2,3,2], pads=[1,1,1,1,1,1]>", .inputs = {{1, 2, 5, 6, 7}}});
}

TEST_F(Pools, AveragePoolThatCountsPadding) {
  ExpectLikeCpu({.op = "AveragePool <kernel_shape=[3,3], pads=[1,2,1,0], strides=[2,2], count_include_pad=1>",
          .inputs = {{1, 3, 9, 8}}});
  ExpectLikeCpu({.op = "AveragePool <kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2], count_include_pad=1, ceil_mode=1>",
          .inputs = {{1, 3, 8, 8}}});
  ExpectLikeCpu({.op = "AveragePool <kernel_shape=[2,2], dilations=[2,3], pads=[1,1,1,1]>", .inputs = {{1, 2, 9, 9}}, .opset = 19});
}

TEST_F(Pools, LpPoolOfEachExponent) {
  for (const char* p : {"1", "2", "3"})
    ExpectLikeCpu({.op = std::string("LpPool <kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,1], p=") + p + ">",
            .inputs = {{1, 3, 7, 8}}});
}

TEST_F(Pools, GlobalPools) {
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool <p=2>", "GlobalLpPool <p=3>"}) {
    ExpectLikeCpu({.op = op, .inputs = {{2, 5, 7, 7}}});
    ExpectLikeCpu({.op = op, .inputs = {{1, 3, 4, 5, 6}}});
  }
  // The plane has so many elements that several invocations share it.
  ExpectLikeCpu({.op = "GlobalAveragePool", .inputs = {{1, 2, 40, 30}}});
}

TEST_F(Pools, PoolsInHalfPrecision) {
  ExpectLikeCpu({.op = "MaxPool <kernel_shape=[3,3]>", .inputs = {{1, 2, 6, 6}}, .type = DataType::kFloat16});
  ExpectLikeCpu({.op = "AveragePool <kernel_shape=[3,3]>", .inputs = {{1, 2, 6, 6}}, .type = DataType::kFloat16});
  ExpectLikeCpu({.op = "GlobalAveragePool", .inputs = {{1, 2, 40, 30}}, .type = DataType::kFloat16});
}

}  // namespace
}  // namespace epiphyte::test
