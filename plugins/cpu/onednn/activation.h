// The activations that fused operators apply to their results (epiphyte/kit/fuse/activation.hpp), in oneDNN's operators
// and beside them.
#pragma once

#include "epiphyte/kit/fuse/activation.hpp"
#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

using kit::fuse::Activation;

// What oneDNN takes behind a product or a convolution.
bool IsOneDnnActivation(const Activation& activation);
// Throws kit::Error for one that it doesn't take; nothing is appended for none.
void AppendActivation(const Activation& activation, dnnl::post_ops& ops);
// The greatest absolute value that it gives for finite numbers of at most `limit`; `limit` for no activation, infinity
// when it isn't known.
float LimitOfActivation(const Activation& activation, float limit);
// In place, for products that oneDNN doesn't make. Not for none.
void ApplyActivation(const Activation& activation, float* x, int64_t n);

}  // namespace epiphyte::cpu
