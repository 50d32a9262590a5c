// WeightArena: puts weights next to each other in large pages. A GEMM with one row reads each weight once. With small
// pages, the CPU spends a third of the time of such a GEMM on page-table walks. Most weights of a network are smaller
// than a large page, so they share pages.
//
//   kit::WeightArena arena;                                       // one for each plan
//   const std::shared_ptr<void> packed = arena.Allocate(bytes);   // lives until its last owner releases it
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <memory>

namespace epiphyte::kit {

// Use it only for weights that stay. Freed memory goes back to the system, but the arena does not reuse its place.
class WeightArena {
 public:
  // Returns memory as AllocateWeights does. The memory may outlive the arena.
  std::shared_ptr<void> Allocate(uint64_t bytes);

 private:
  uint64_t total_ = 0;
  std::shared_ptr<void> chunk_;
  uint64_t used_ = 0;  // bytes used in the chunk
};

}  // namespace epiphyte::kit
