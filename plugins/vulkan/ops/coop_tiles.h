// CoopTiles: how a matrix of float16 that is a product is computed by cooperative matrices (shaders/coop.glsl): in
// tiles of what size, or why not at all.
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

// Minimum rows, columns and steps. With fewer, tiles would be mostly empty.
inline constexpr int64_t kLeastTiled = 32;

class CoopTiles {
 public:
  // Plans `batches` products, [m, k] by [k, n].
  CoopTiles(const Capabilities& capabilities, int64_t m, int64_t n, int64_t k, int64_t batches);

  // "the device has no coopmat", …; "" when it can be done and, unless it is preferred, is worth it.
  const std::string& why_not() const { return why_not_; }
  // "tiles of 64 by 64, matrices of 16x16x16"
  std::string Describe() const;
  // Workgroups are tiles of columns, tiles of rows, and batches. Adds the constants of coop.glsl behind those that are
  // there, and says what else the kernel needs.
  void Complete(Dispatch* dispatch) const;

 private:
  std::string WhyNot(const Capabilities& capabilities, int64_t least) const;

  MatrixShape matrix_;
  uint32_t invocations_;  // invocations of a workgroup
  int64_t side_ = 0;      // rows, and columns, of a workgroup's tile
  uint32_t fetches_ = 0;  // fours of each operand that an invocation reads at a time
  std::array<uint32_t, 3> groups_ = {};
  uint64_t passes_ = 0;
  std::string why_not_;
};

}  // namespace epiphyte::vulkan
