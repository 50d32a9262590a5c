// What runs beside the array: requantisation, elementwise work, pools, tables, softmax, norms, resizing. Each function
// executes one verified command on the scratchpad (and the accumulators). All of it is integer arithmetic but the norm,
// which is IEEE double without contraction; so bits are equal on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

void RunFill(const FillCommand& c, std::byte* scratchpad);
void RunPost(const PostCommand& c, const int32_t* accumulators, std::byte* scratchpad);
void RunElementwise(const ElementwiseCommand& c, std::byte* scratchpad);
void RunPool(const PoolCommand& c, std::byte* scratchpad);
void RunLookup(const LookupCommand& c, std::byte* scratchpad);
void RunSoftmax(const SoftmaxCommand& c, std::byte* scratchpad);
void RunLayerNorm(const LayerNormCommand& c, std::byte* scratchpad);
void RunResize(const ResizeCommand& c, std::byte* scratchpad);

}  // namespace epiphyte::npusim
