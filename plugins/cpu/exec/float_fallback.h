// Float fallback: nodes of float16, bfloat16 or double that run in float, between casts.
//
//   ir::Graph plan = ir::Import(host, graph, name);
//   RunInFloat(plan, registry);  // before the fusions
//
// Two kinds of them: those whose operator has kernels for float but none for its own type (an LSTM of double), and
// those of 16 bits that are better computed in float: products, convolutions, pools (their kernels say so,
// Float32Promotion), and whatever stands between them. Such a network is a network of floats, with its fusions and
// layouts, that is cast where it begins and ends: values between its nodes are not rounded to 16 bits, so that results
// are closer to the exact ones than the model's type would have them. A value is rounded, once, where it is a result of
// the graph and where a node reads it that must see its bits (a comparison, a quantisation) or has no kernel for float.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/abi/threads.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// The kernel of a node that has none as it is: makes numbers of other float types float among its arguments and asks
// again. A null entry when that doesn't help either; the arguments may have changed all the same.
KernelRegistry::Choice FindAsFloat(const KernelRegistry& registry, std::string_view domain, std::string_view op_type,
                                   int64_t since_version, std::vector<ArgumentType>* inputs,
                                   std::vector<ArgumentType>* outputs);
// What reports say of such a node.
std::string DescribeFloatFallback(std::string_view op_type, std::string_view name);

// All products and convolutions of `plan` are of `type`, and there are some. For a plan as it came.
bool MultipliesOnly(ElementType type, const ir::Graph& plan, const KernelRegistry& registry);

// How constants are cast.
struct CastingConstants {
  kit::Threads threads;
  std::function<void(uint64_t bytes)> made;  // called as they are made, between those and within a large one
};

// Makes the nodes of `plan` that run as float read and give floats, and casts what others read and give. Gives what is
// to be said of each that has no kernel of its own type. Constants are cast here and now.
std::vector<std::string> RunInFloat(ir::Graph& plan, const KernelRegistry& registry,
                                    const CastingConstants& casting = {});

}  // namespace epiphyte::cpu
