// Transposed convolutions without overlapping kernels, as in decoders that double an image. Each input element becomes
// a tile of the result. All tiles are one GEMM, and its elements are then moved to their places. Input and output are
// row-major floats.
#pragma once

#include <algorithm>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/primitive.h"

namespace epiphyte::cpu {

inline bool MakesTiles(const kit::TransposedConvolutionShape& shape, int64_t group) {
  if (group != 1 || shape.strides.size() != 2 || shape.y.Count() == 0 || shape.w.Count() == 0) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (shape.strides[i] != shape.w[i + 2] || (shape.dilations[i] != 1 && shape.w[i + 2] != 1) ||
        shape.pads_begin[i] != 0 || shape.y[i + 2] != shape.x[i + 2] * shape.strides[i])
      return false;
  }
  return true;
}

// The GEMM [N, output channels and taps, input positions]: weights in model order times images.
inline PrimitiveCall TileProduct(const kit::TransposedConvolutionShape& shape, const PrimitiveAttr& attr) {
  const int64_t images = shape.x[0], channels = shape.x[1], positions = shape.x[2] * shape.x[3];
  const int64_t rows = shape.w[1] * shape.w[2] * shape.w[3];
  const MemoryDesc weights = StridedDesc(EP_TYPE_FLOAT, {1, rows, channels}, {rows * channels, 1, rows});
  const MemoryDesc x = StridedDesc(EP_TYPE_FLOAT, {images, channels, positions}, {channels * positions, positions, 1});
  const MemoryDesc y = StridedDesc(EP_TYPE_FLOAT, {images, rows, positions}, {rows * positions, positions, 1});
  const auto pd = MatMulDesc(weights, x, nullptr, y, attr);
  PrimitiveCall call;
  call.Reset(dnnl::matmul(pd), pd.scratchpad_desc());
  call.Add(DNNL_ARG_SRC, weights);
  call.Add(DNNL_ARG_WEIGHTS, x);
  call.Add(DNNL_ARG_DST, y);
  return call;
}

// Moves the GEMM's result to the tiles. `bias`: one value for each output channel, or null.
inline void PlaceTiles(OpContext& context, const kit::TransposedConvolutionShape& shape, const float* product,
                       const float* bias, float* y) {
  const int64_t height = shape.x[2], width = shape.x[3], tile_height = shape.w[2], tile_width = shape.w[3];
  const int64_t positions = height * width, plane = positions * tile_height * tile_width;
  context.ParallelFor(shape.y[0] * shape.y[1], std::max<int64_t>(1, 16384 / plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float added = bias == nullptr ? 0.0f : bias[i % shape.y[1]];
      const float* const from = product + i * plane;
      float* to = y + i * plane;
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t r = 0; r < tile_height; ++r, to += width * tile_width) {
          const float* const first = from + r * tile_width * positions + row * width;
          if (tile_width == 2) {
            const float* const second = first + positions;
            for (int64_t c = 0; c < width; ++c) {
              to[2 * c] = first[c] + added;
              to[2 * c + 1] = second[c] + added;
            }
            continue;
          }
          for (int64_t t = 0; t < tile_width; ++t) {
            const float* const tap = first + t * positions;
            for (int64_t c = 0; c < width; ++c) to[c * tile_width + t] = tap[c] + added;
          }
        }
      }
    }
  });
}

}  // namespace epiphyte::cpu
