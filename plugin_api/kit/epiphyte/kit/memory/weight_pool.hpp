// WeightPool: shares equal weights among the programs that are compiled for one context.
//
//   kit::WeightPool pool;                                      // one for each provider, or for each share group
//   std::shared_ptr<void> memory = kit::AllocateWeights(bytes);
//   Pack(weights, memory.get());
//   memory = pool.Share(std::move(memory), bytes);             // another program's memory, if that has the same bytes
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
  // Returns memory with the same `bytes` bytes if the pool knows one, else `memory`. Programs own the weights; the pool
  // holds weak references. The bytes must not change any more. Small weights are returned unshared. [any thread]
  std::shared_ptr<void> Share(std::shared_ptr<void> memory, uint64_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<std::weak_ptr<void>>> known_;  // key: digest and size
};

}  // namespace epiphyte::kit
