// Conv without a library: any number of spatial dimensions, any strides, dilations and pads, and types that oneDNN's
// convolution lacks.
#pragma once

#include <memory>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Bias of a Conv, or null when there is none. Throws unless it has an element for each channel.
const Tensor* CheckedBias(OpContext& context, int64_t channels);

std::unique_ptr<Kernel> MakeReferenceConv(const KernelInit& init);  // for float
void AddReferenceConvs(KernelRegistry& registry);                   // for all other types

}  // namespace epiphyte::cpu
