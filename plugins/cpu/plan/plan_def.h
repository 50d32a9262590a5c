// PlanDef: a partition as data. It is made from the host's graph or from a context, rewritten by the fusions, and
// turned into kernels by Plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "plugins/cpu/kernel.h"

namespace epiphyte::cpu {

inline constexpr std::string_view kFusedDomain = "epiphyte.cpu";

// A constant and where its bytes are: with the host (until Compile returns), in `owner`, or in a mapped context.
struct ConstantDef {
  int32_t value = -1;
  Tensor tensor;
  std::shared_ptr<void> owner;
  bool borrowed = false;  // tensor.data is the host's: copy it to keep it
  bool dropped = false;   // a context was saved without the bytes
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

// What is known of a value, from the host's static type. A sequence's or optional's element type is the tensors'.
ValueInfo ImportType(const EpTypeInfo* type);

// The type by which a kernel for `node` is chosen: of its first present input, else of its first output.
ElementType DispatchType(const NodeDef& node, const std::vector<ValueInfo>& values);

}  // namespace epiphyte::cpu
