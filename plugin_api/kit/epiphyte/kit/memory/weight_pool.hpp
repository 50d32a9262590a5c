// WeightPool: one copy of equal weights among the programs that are compiled for one context.
//
//   kit::WeightPool pool;                                      // of a provider, or of a share group
//   std::shared_ptr<void> memory = kit::AllocateWeights(bytes);
//   Pack(weights, memory.get());
//   memory = pool.Share(std::move(memory), bytes);             // another program's, if it packed the same bytes
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace epiphyte::kit {

class WeightPool {
 public:
  // `memory`, or what the pool knows with the same `bytes` bytes. Programs own weights, the pool only finds them. From
  // now on nobody changes those bytes. Small ones aren't worth looking for. [any thread]
  std::shared_ptr<void> Share(std::shared_ptr<void> memory, uint64_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<std::weak_ptr<void>>> known_;  // by digest and size
};

}  // namespace epiphyte::kit
