// Layers that the image networks share.
#pragma once

#include <cstdint>
#include <string>

#include "tests/models/builder.h"

namespace epiphyte::test {

struct ConvShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t groups = 1;
  // Kernel size along a row, and the padding at both ends of the row. 0: a square kernel with equal padding.
  int64_t kernel_width = 0;
  int64_t padding_width = 0;
};

// Adds a convolution with the weights `<name>.weight` and, if `bias`, the bias `<name>.bias`.
std::string Conv(GraphBuilder& graph, const std::string& x, const std::string& name, const ConvShape& shape, bool bias);

// Adds an inference-time batch normalization over `channels`. `gain` is the mean of its scale.
std::string BatchNorm(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t channels,
                      float gain = 1);

// Adds a MaxPool without ceil_mode.
std::string MaxPool(GraphBuilder& graph, const std::string& x, int64_t kernel, int64_t stride, int64_t padding);

// Adds Flatten from axis 1 and a dense layer.
std::string Classifier(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out);

}  // namespace epiphyte::test
