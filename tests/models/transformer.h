// Layers that the attention networks share, in the pieces that PyTorch's exporter writes them in below opset 17.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/models/builder.h"

namespace epiphyte::test {

// x times <name>.weight [in, out], plus <name>.bias.
std::string Dense(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out,
                  float deviation);

// Over the last axis, of `size` elements.
std::string LayerNorm(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t size, float epsilon);

// Gelu by Erf.
std::string Gelu(GraphBuilder& graph, const std::string& x);

// Dimension `axis` of x as one element of rank 1: Shape, Gather, Unsqueeze.
std::string SizeOf(GraphBuilder& graph, const std::string& x, int64_t axis);

// `x` in the shape that these sizes of rank 1 make.
std::string ReshapeTo(GraphBuilder& graph, const std::string& x, const std::vector<std::string>& sizes);

}  // namespace epiphyte::test
