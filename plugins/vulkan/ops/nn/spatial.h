// Shared code of convolutions and pools: their spatial dimensions, extended to the three of the kernels, and the nodes
// that they support.
//
//     const auto kernel = Spatial3(window.kernel, 1);   // [1, h, w] of a kernel of two dimensions
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

// Extends one to three numbers to three, with `fallback` in front.
inline std::array<int64_t, 3> Spatial3(std::span<const int64_t> numbers, int64_t fallback) {
  std::array<int64_t, 3> three = {fallback, fallback, fallback};
  for (size_t i = 0; i < numbers.size(); ++i) three[3 - numbers.size() + i] = numbers[i];
  return three;
}

inline void CheckRank(const kit::Dims& x) {
  if (x.size() < 3 || x.size() > 5)
    kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "an input of rank ", x.size(), "; 3 to 5 expected on this provider");
}

// Why kernels of one to three spatial dimensions can't run a node, or "". Inputs 0 and `weights` have the same rank,
// which may be known of one of them only.
inline std::string CheckSpatial(const NodeCheck& check, size_t weights = 0) {
  const int32_t rank = check.Input(0).rank >= 0 ? check.Input(0).rank : check.Input(weights).rank;
  if (rank < 0) return "the rank of the input is not known before the run";
  if (rank < 3 || rank > 5) return "the input has rank " + std::to_string(rank) + "; 3 to 5 expected";
  return "";
}

}  // namespace epiphyte::vulkan
