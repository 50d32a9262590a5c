// CoopTiles: how a float16 GEMM is computed by cooperative matrices (shaders/coop.glsl). It chooses the size of the
// tiles, or gives the reason why cooperative matrices are not used.
//
//     const CoopTiles tiles(r.capabilities(), product.m, product.n, product.k, product.batches);
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

// Least m, n and k of a GEMM that is computed in tiles. Tiles of a smaller one would be mostly empty.
inline constexpr int64_t kLeastTiled = 32;

class CoopTiles {
 public:
  // Plans `batches` GEMMs of [m, k] by [k, n].
  CoopTiles(const Capabilities& capabilities, int64_t m, int64_t n, int64_t k, int64_t batches);

  // Why cooperative matrices are not used: "the device has no coopmat", …; "" if they are. A GEMM that is too small for
  // them still uses them if the option `prefer` names them.
  const std::string& why_not() const { return why_not_; }
  // "tiles of 64 by 64, matrices of 16x16x16"
  std::string Describe() const;
  // Sets the workgroups (tiles of columns, tiles of rows, batches), the loop passes and the need for full subgroups.
  // Appends the specialization constants of coop.glsl to the shader's own.
  void Complete(Dispatch* dispatch) const;

 private:
  std::string WhyNot(const Capabilities& capabilities, int64_t least) const;

  MatrixShape matrix_;
  uint32_t invocations_;  // invocations of a workgroup
  int64_t side_ = 0;      // rows of a workgroup's tile, which has as many columns
  uint32_t fetches_ = 0;  // vectors of four elements that an invocation loads of each operand for kCoopSteps steps
  std::array<uint32_t, 3> groups_ = {};
  uint64_t passes_ = 0;
  std::string why_not_;
};

}  // namespace epiphyte::vulkan
