// GraphSpec: the suite's description of a small graph, from which DebugGraph makes the graph that a plugin sees.
//
//   GraphSpec graph = {.name = "probe"};
//   int x = graph.AddInput("x", EP_TYPE_FLOAT, {2, 8});
//   int y = graph.AddOutput("y", EP_TYPE_FLOAT, {2, 8});
//   graph.AddNode("Relu", {x}, {y});
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "epiphyte/ep_graph.h"

namespace epiphyte::conformance {

struct ValueSpec {
  std::string name;
  EpElementType type = EP_TYPE_FLOAT;
  std::vector<int64_t> dims;         // -1: unknown dimension
  std::vector<std::byte> data;       // data of a constant
  EpTypeKind kind = EP_KIND_TENSOR;  // for a sequence, `type` and `dims` are those of its tensors
  bool has_rank = true;
  bool is_constant = false;
};

struct AttributeSpec {
  std::string name;
  EpAttributeType type = EP_ATTRIBUTE_INT;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
};

struct NodeSpec {
  std::string name;
  std::string op_type;
  std::string domain;
  int64_t since_version = 1;
  std::vector<int> inputs;  // indices of values; -1: omitted
  std::vector<int> outputs;
  std::vector<AttributeSpec> attributes;
  bool placed = false;  // true: another provider has the node
};

struct GraphSpec {
  std::string name;
  int64_t opset = 17;
  std::vector<ValueSpec> values;
  std::vector<NodeSpec> nodes;  // in executable order
  std::vector<int> inputs;
  std::vector<int> outputs;

  int AddValue(std::string value_name, EpElementType type, std::vector<int64_t> dims);
  int AddInput(std::string value_name, EpElementType type, std::vector<int64_t> dims);
  int AddOutput(std::string value_name, EpElementType type, std::vector<int64_t> dims);
  int AddConstant(std::string value_name, std::vector<int64_t> dims, std::span<const float> data);
  NodeSpec& AddNode(std::string op_type, std::vector<int> node_inputs, std::vector<int> node_outputs,
                    int64_t since_version = 1);

  // Returns the nodes of `members` and the values that they use, as a partition.
  GraphSpec Part(std::span<const size_t> members, std::string part_name) const;
  // Returns whether a path leaves `members` and comes back.
  bool LeavesAndComesBack(std::span<const size_t> members) const;
};

// Returns the graphs' operators, each once, for a message: "Conv, com.acme.Gate, Relu".
std::string OperatorsIn(std::span<const GraphSpec> graphs);

// Returns the bytes of a tensor; 0 when a size is unknown.
uint64_t ByteSize(EpElementType type, std::span<const int64_t> dims);

}  // namespace epiphyte::conformance
