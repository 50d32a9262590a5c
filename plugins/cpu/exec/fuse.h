// Fusions: rewrites of a plan before its kernels are made, by the kit's recognisers (epiphyte/kit/fuse), for what this
// plugin's kernels can do. They rely on nothing but the graph, so the same graph always gives the same plan.
#pragma once

#include <cstdint>
#include <functional>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// `registry` says which operators leave their results in layouts of their own. `made`: see
// kit::fuse::FoldIntoConvolutions. `int8_products`: products of floats become dynamically quantised ones
// (kit::qdq::QuantizeProducts).
void Fuse(ir::Graph& plan, const KernelRegistry& registry, const std::function<void(uint64_t bytes)>& made = {},
          bool int8_products = false);

}  // namespace epiphyte::cpu
