// WeightPool: one copy of equal weights among the plans that are compiled for one context.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace epiphyte::cpu {

class WeightPool {
 public:
  // `memory`, or what the pool knows with the same `bytes` bytes. Plans own weights, the pool only finds them.
  // [any thread]
  std::shared_ptr<void> Share(std::shared_ptr<void> memory, uint64_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<std::weak_ptr<void>>> known_;  // by digest and size
};

}  // namespace epiphyte::cpu
