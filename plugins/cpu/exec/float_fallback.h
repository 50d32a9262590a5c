// Float fallback: nodes of float16, bfloat16 or double that run in float, between casts.
//
//   ir::Graph plan = ir::Import(host, graph, name);
//   RunInFloat(plan, registry);  // before the fusions
//
// Two kinds of nodes run in float:
// - nodes of an operator that has a float kernel but none for their own type (an LSTM of double);
// - 16-bit nodes that are better computed in float: GEMMs, convolutions and pools (their kernels declare it by
//   Float32Promotion), and the nodes between them.
//
// Such a network runs as a float network, with its fusions and layouts, and is cast at its inputs and outputs. Values
// between its nodes are not rounded to 16 bits, so results are closer to the exact ones than the model's type allows. A
// value is rounded once, in two places: at a graph output, and in front of a node that must see the value's bits (a
// comparison, a quantization) or has no float kernel.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/abi/threads.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Finds a kernel for a node that has none for its own types: changes arguments of other float types to float and
// searches again. The entry is null when that fails too; the arguments may have changed even then.
KernelRegistry::Choice FindAsFloat(const KernelRegistry& registry, std::string_view domain, std::string_view op_type,
                                   int64_t since_version, std::vector<ArgumentType>* inputs,
                                   std::vector<ArgumentType>* outputs);
// Text about such a node for reports.
std::string DescribeFloatFallback(std::string_view op_type, std::string_view name);

// True when `plan` has at least one GEMM or convolution and all of them are of `type`. Call it before any rewrite.
bool MultipliesOnly(ElementType type, const ir::Graph& plan, const KernelRegistry& registry);

// Options for casting constants.
struct CastingConstants {
  kit::Threads threads;
  std::function<void(uint64_t bytes)> made;  // called after each constant, and during a large one
};

// Makes the nodes of `plan` that run in float read and write floats, and inserts casts for all other readers and
// writers. Constants are cast immediately. Returns a line for each node without a kernel for its own type.
std::vector<std::string> RunInFloat(ir::Graph& plan, const KernelRegistry& registry,
                                    const CastingConstants& casting = {});

}  // namespace epiphyte::cpu
