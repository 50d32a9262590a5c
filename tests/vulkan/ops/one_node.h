// Tests of one node in many shapes. The fixture writes the model around the node.
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
  std::string op;                                    // name and attributes: "Conv <group=2>"
  std::vector<std::vector<int64_t>> inputs;          // shapes of the inputs of `type`
  std::vector<std::vector<int64_t>> constants = {};  // shapes of the initializers of `type`, which follow the inputs
  std::vector<std::string> others = {};              // further initializers at the end: "int64[1] = {1}"
  size_t outputs = 1;                                // the first output has type `type`, the others int64
  int opset = 18;
  DataType type = DataType::kFloat;  // kFloat or kFloat16
};

class NodeTest : public OperatorTest {
 protected:
  using OperatorTest::ExpectLikeCpu;
  void ExpectLikeCpu(const NodeCase& node);
};

}  // namespace epiphyte::test
