// Activations that fused operators apply to their results (epiphyte/kit/fuse/activation.hpp), as oneDNN post-ops and as
// own loops.
#pragma once

#include "epiphyte/kit/fuse/activation.hpp"
#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

using kit::fuse::Activation;

// True when oneDNN supports the activation as a post-op of a GEMM or convolution.
bool IsOneDnnActivation(const Activation& activation);
// Appends the activation to `ops`; does nothing for none. Throws kit::Error for one that oneDNN does not support.
void AppendActivation(const Activation& activation, dnnl::post_ops& ops);
// Largest absolute result for finite inputs of at most `limit`: `limit` for no activation, infinity when unknown.
float LimitOfActivation(const Activation& activation, float limit);
// Applies the activation in place, for results that oneDNN did not compute. `activation` must not be none.
void ApplyActivation(const Activation& activation, float* x, int64_t n);

}  // namespace epiphyte::cpu
