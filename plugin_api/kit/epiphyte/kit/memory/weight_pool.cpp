#include "epiphyte/kit/memory/weight_pool.hpp"

#include <cstring>

#include "epiphyte/kit/memory/digest.hpp"

namespace epiphyte::kit {

std::shared_ptr<void> WeightPool::Share(std::shared_ptr<void> memory, uint64_t bytes) {
  constexpr uint64_t kWorthIt = 4096;
  if (bytes < kWorthIt) return memory;
  const uint64_t digest = Digest(memory.get(), bytes);
  const std::lock_guard lock(mutex_);
  std::vector<std::weak_ptr<void>>& alike = known_[{digest, bytes}];
  std::erase_if(alike, [](const std::weak_ptr<void>& entry) { return entry.expired(); });
  for (const std::weak_ptr<void>& entry : alike) {
    std::shared_ptr<void> other = entry.lock();
    if (other && std::memcmp(other.get(), memory.get(), static_cast<size_t>(bytes)) == 0) return other;
  }
  alike.push_back(memory);
  return memory;
}

}  // namespace epiphyte::kit
