// Layers that the attention networks share, in the pieces in which PyTorch's exporter writes them below opset 17.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/models/builder.h"

namespace epiphyte::test {

// Returns x times <name>.weight [in, out], plus <name>.bias.
std::string Dense(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out,
                  float deviation);

// Normalizes over the last axis, which has `size` elements.
std::string LayerNorm(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t size, float epsilon);

// Returns Gelu, written with Erf.
std::string Gelu(GraphBuilder& graph, const std::string& x);

// Returns dimension `axis` of x as a tensor of shape [1]: Shape, Gather, Unsqueeze.
std::string SizeOf(GraphBuilder& graph, const std::string& x, int64_t axis);

// Reshapes `x` to the concatenation of `sizes`, which are tensors of rank 1.
std::string ReshapeTo(GraphBuilder& graph, const std::string& x, const std::vector<std::string>& sizes);

}  // namespace epiphyte::test
