// Conv without a library: over any number of spatial dimensions, with any strides, dilations and pads, of the types that
// oneDNN's convolution lacks, too.
#pragma once

#include <memory>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// The bias of a Conv, or null when there is none. Throws for one of another length than there are channels.
const Tensor* CheckedBias(OpContext& context, int64_t channels);

std::unique_ptr<Kernel> MakeReferenceConv(const KernelInit& init);  // of float
void AddReferenceConvs(KernelRegistry& registry);                   // of the other types

}  // namespace epiphyte::cpu
