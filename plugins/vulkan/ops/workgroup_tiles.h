// WorkgroupTiles: how a matrix that is a product is computed in tiles of workgroup memory (shaders/tiles.glsl): of what
// size, or why not at all.
//
//     const WorkgroupTiles tiles(r.capabilities(), product.m, product.n, product.k, product.batches);
//     if (!tiles.why_not().empty()) …
//     dispatch.specialization = {flags, activation};  // the shader's own
//     tiles.Complete(&dispatch);
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "plugins/vulkan/device/capabilities.h"
#include "plugins/vulkan/program/program.h"

namespace epiphyte::vulkan {

class WorkgroupTiles {
 public:
  // Plans `batches` products, [m, k] by [k, n].
  WorkgroupTiles(const Capabilities& capabilities, int64_t m, int64_t n, int64_t k, int64_t batches);

  // "the device has too little workgroup memory", …; "" when it can be done. Whether the device has workgroup memory that
  // is worth it is the caller's question.
  const std::string& why_not() const { return why_not_; }
  // "tiles of 64 by 64"
  std::string Describe() const;
  // Workgroups are tiles of columns, tiles of rows, and batches. Adds the constants of tiles.glsl behind those that are
  // there, and says what else the kernel needs.
  void Complete(Dispatch* dispatch) const;

 private:
  // The constants of the shader.
  struct Shape {
    uint32_t blocks = 1, side = 16, steps = 16;

    int64_t tile() const { return int64_t{4} * blocks * side; }
    int64_t slices() const;
    int64_t shared_bytes() const;
  };
  static constexpr size_t kShapes = 3;
  static const Shape kLargestFirst[kShapes];

  Shape shape_;
  std::array<uint32_t, 3> groups_ = {};
  uint64_t passes_ = 0;
  std::string why_not_;
};

}  // namespace epiphyte::vulkan
