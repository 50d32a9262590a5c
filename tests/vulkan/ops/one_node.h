// Tests of one node in many shapes: the model is written around it.
//
//     class Pools : public NodeTest {};
//     TEST_F(Pools, OfEachRank) {
//       ExpectLikeCpu({.op = "MaxPool <kernel_shape=[2,2]>", .inputs = {{1, 2, 5, 5}}, .outputs = 2});
//     }
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/vulkan/ops/operator_harness.h"

namespace epiphyte::test {

struct NodeCase {
  std::string op;                                // with attributes: "Conv <group=2>"
  std::vector<std::vector<int64_t>> inputs;      // of the type, in these shapes
  std::vector<std::vector<int64_t>> constants = {};  // behind them
  std::vector<std::string> others = {};          // initializers behind those: "int64[1] = {1}"
  size_t outputs = 1;                            // the first of the type, the others of int64
  int opset = 18;
  DataType type = DataType::kFloat;              // or kFloat16
};

class NodeTest : public OperatorTest {
 protected:
  using OperatorTest::ExpectLikeCpu;
  void ExpectLikeCpu(const NodeCase& node);
};

}  // namespace epiphyte::test
