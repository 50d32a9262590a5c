// WorkgroupTiles: how a GEMM is computed in tiles in workgroup memory (shaders/tiles.glsl). It chooses the size of the
// tiles, or gives the reason why tiles can't be used.
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
  // Plans `batches` GEMMs of [m, k] by [k, n].
  WorkgroupTiles(const Capabilities& capabilities, int64_t m, int64_t n, int64_t k, int64_t batches);

  // Why tiles can't be used: "the device has too little workgroup memory", …; "" if they can. The caller decides
  // whether the device's workgroup memory is fast enough.
  const std::string& why_not() const { return why_not_; }
  // "tiles of 64 by 64"
  std::string Describe() const;
  // Sets the workgroups (tiles of columns, tiles of rows, batches) and the loop passes. Appends the specialization
  // constants of tiles.glsl to the shader's own.
  void Complete(Dispatch* dispatch) const;

 private:
  // The specialization constants of tiles.glsl: kBlocks, kSide, kSteps.
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
