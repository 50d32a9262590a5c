// PlanDef: a partition as data. It is made from the host's graph or from a context, rewritten by the fusions, and
// turned into kernels by Plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "epiphyte/kit/container/graph.hpp"
#include "epiphyte/kit/graph/import.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

using ConstantDef = ir::Constant;
using PlanDef = ir::Graph;

using kit::PackedData;  // see KernelInit::Packed

inline PlanDef ImportGraph(const EpHostInfo* host, const EpGraph* graph, std::string name) {
  return ir::Import(*host, graph, std::move(name));
}

// As the registry looks at a value: the host's, or a plan's.
ArgumentType ToArgument(const EpValueDefInfo& info);
inline ArgumentType ToArgument(const ValueInfo& value) { return {true, value.kind, value.type, value.rank}; }
// What is known of the values of a node's inputs or outputs.
void DescribeArguments(const std::vector<int32_t>& arguments, const std::vector<ValueInfo>& values,
                       std::vector<ArgumentType>* described);

}  // namespace epiphyte::cpu
