// Float fallback: a node of float16, bfloat16 or double whose operator has kernels for float but none for its own type
// (an LSTM of double) runs in float, between casts.
//
//   ir::Graph plan = ir::Import(host, graph, name);
//   RunInFloat(plan, registry);  // before the fusions
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// The kernel of a node that has none as it is: makes numbers of other float types float among its arguments and asks
// again. A null entry when that doesn't help either; the arguments may have changed all the same.
KernelRegistry::Choice FindAsFloat(const KernelRegistry& registry, std::string_view domain, std::string_view op_type,
                                   int64_t since_version, std::vector<ArgumentType>* inputs,
                                   std::vector<ArgumentType>* outputs);
// What reports say of such a node.
std::string DescribeFloatFallback(std::string_view op_type, std::string_view name);

// Puts casts around the nodes of `plan` that run only as float, and gives what is to be said of each. Constants are
// cast here and now.
std::vector<std::string> RunInFloat(ir::Graph& plan, const KernelRegistry& registry);

}  // namespace epiphyte::cpu
