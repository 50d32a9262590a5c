// Fusions: rewrites of a plan before its kernels are made, by the kit's passes (epiphyte/kit/fuse/passes.hpp), limited
// to the patterns that this plugin has kernels for. They depend on the graph alone: equal graphs give equal plans.
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/fuse/pipeline.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// `registry` must outlive the pipeline; it tells which operators have kernels, and which of these write their results
// in their own layouts. `made`: see kit::fuse::FoldIntoConvolutions. `int8_products`: float GEMMs become dynamically
// quantized ones (kit::qdq::QuantizeProducts).
kit::fuse::Pipeline MakePipeline(const KernelRegistry& registry, const std::function<void(uint64_t bytes)>& made = {},
                                 bool int8_products = false);
// Runs that pipeline.
void Fuse(ir::Graph& plan, const KernelRegistry& registry, const std::function<void(uint64_t bytes)>& made = {},
          bool int8_products = false);

}  // namespace epiphyte::cpu
