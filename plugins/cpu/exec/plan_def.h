// PlanDef: a partition as data. It is made from the host's graph or from a context, rewritten by the fusions, and
// turned into kernels by Plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// A constant and where its bytes are: with the host (until Compile returns), in `owner`, which may be a reference to
// the host's, or in a mapped context.
struct ConstantDef {
  int32_t value = -1;
  Tensor tensor;
  std::shared_ptr<void> owner;
  const EpValueDef* handle = nullptr;  // the host's, while its data is borrowed from there
  // tensor.data is the host's or `owner`'s, until the plan is built: retain or copy it to keep it
  bool borrowed = false;
  bool dropped = false;  // a context was saved without the bytes
};

// Packed data of one node; see KernelInit::Packed.
struct PackedData {
  int32_t node = 0;
  std::string key;
  std::string format;
  const void* data = nullptr;
  uint64_t bytes = 0;
  std::shared_ptr<void> owner;  // null when the bytes lie in a mapped context
};

struct PlanDef {
  std::string name;
  std::vector<ValueInfo> values;
  std::vector<ConstantDef> constants;
  std::vector<int32_t> constant_of_value;  // index into constants; -1: none
  std::vector<NodeDef> nodes;              // in execution order
  std::vector<int32_t> inputs;             // value indices
  std::vector<int32_t> outputs;

  const ConstantDef* FindConstant(int32_t value) const {
    if (value < 0 || constant_of_value[value] < 0) return nullptr;
    return &constants[constant_of_value[value]];
  }
  int32_t AddValue(ValueInfo info) {
    values.push_back(std::move(info));
    constant_of_value.push_back(-1);
    return static_cast<int32_t>(values.size()) - 1;
  }
};

// The partition's graph with its attributes copied; constants stay the host's.
PlanDef ImportGraph(const EpHostInfo* host, const EpGraph* graph, std::string name);

// What is known of a value, from its static type and the constant that it may be. A sequence's or optional's element
// type is the tensors'.
ValueInfo ImportValueInfo(const EpValueDefInfo& info);

// As the registry looks at a value: the host's, or a plan's.
ArgumentType ToArgument(const EpValueDefInfo& info);
inline ArgumentType ToArgument(const ValueInfo& value) { return {true, value.kind, value.type, value.rank}; }
// What is known of the values of a node's inputs or outputs.
void DescribeArguments(const std::vector<int32_t>& arguments, const std::vector<ValueInfo>& values,
                       std::vector<ArgumentType>* described);

}  // namespace epiphyte::cpu
