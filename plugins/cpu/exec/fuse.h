// Fusions: rewrites of a plan before its kernels are made. They use the kit's recognisers (epiphyte/kit/fuse), limited
// to the patterns that this plugin has kernels for. They depend on the graph alone: equal graphs give equal plans.
#pragma once

#include <cstdint>
#include <functional>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// `registry` tells which operators write their results in their own layouts. `made`: see
// kit::fuse::FoldIntoConvolutions. `int8_products`: float GEMMs become dynamically quantized ones
// (kit::qdq::QuantizeProducts).
void Fuse(ir::Graph& plan, const KernelRegistry& registry, const std::function<void(uint64_t bytes)>& made = {},
          bool int8_products = false);

}  // namespace epiphyte::cpu
