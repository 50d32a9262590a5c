// WeightArena: weights side by side in large pages. A product with one row reads each of its weights once, and where they
// lie in small pages the CPU spends a third of that time on finding those: most weights of a network are smaller than
// what a large page of its own would be worth.
//
//   kit::WeightArena arena;                                       // of a plan
//   const std::shared_ptr<void> packed = arena.Allocate(bytes);   // until the last owner lets go
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <memory>

namespace epiphyte::kit {

// Only for weights that stay: what is freed goes back to the system, but its place is not used again.
class WeightArena {
 public:
  // As AllocateWeights; it may outlive the arena.
  std::shared_ptr<void> Allocate(uint64_t bytes);

 private:
  uint64_t total_ = 0;
  std::shared_ptr<void> chunk_;
  uint64_t used_ = 0;  // of the chunk
};

}  // namespace epiphyte::kit
