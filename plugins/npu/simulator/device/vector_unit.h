// The unit beside the array: requantisation, elementwise operators, pools, tables, softmax, norms, resizing. Each
// function executes one verified command on the scratchpad (and the accumulators). All of it is integer arithmetic
// except the norm, which is IEEE double without contraction. So results have the same bits on every machine.
//
// Functions that can take long count their steps unless `steps` is null. They throw Steps::Stopped when the run is to
// end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/npu/simulator/device/steps.h"
#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

void RunFill(const FillCommand& c, std::byte* scratchpad);
void RunPost(const PostCommand& c, const int32_t* accumulators, std::byte* scratchpad, Steps* steps = nullptr);
void RunElementwise(const ElementwiseCommand& c, std::byte* scratchpad, Steps* steps = nullptr);
void RunPool(const PoolCommand& c, std::byte* scratchpad, Steps* steps = nullptr);
void RunLookup(const LookupCommand& c, std::byte* scratchpad, Steps* steps = nullptr);
void RunSoftmax(const SoftmaxCommand& c, std::byte* scratchpad, Steps* steps = nullptr);
void RunLayerNorm(const LayerNormCommand& c, std::byte* scratchpad, Steps* steps = nullptr);
void RunResize(const ResizeCommand& c, std::byte* scratchpad, Steps* steps = nullptr);

}  // namespace epiphyte::npusim
