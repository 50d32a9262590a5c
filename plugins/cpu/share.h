// State that the cpu providers of one share group have in common; see epiphyte/kit/abi/share.hpp.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "epiphyte/kit/memory/weight_pool.hpp"
#include "plugins/cpu/exec/context.h"

namespace epiphyte::cpu {

// The group's workspace; providers reach it through kit::ShareGroup. [any thread]
class ShareWorkspace {
 public:
  const std::shared_ptr<kit::WeightPool>& weights() const { return weights_; }

  // Compilation: plans wait here, in the order of their sessions, until the last session writes them. Throws for two
  // plans with equal names, because loading could not tell them apart.
  void AddPlans(const std::vector<std::shared_ptr<const Plan>>& plans);
  std::vector<std::shared_ptr<const Plan>> TakePlans();

  // Loading: the payload's contents. A payload is parsed once as long as a kernel made from it exists.
  std::shared_ptr<const kit::ContextContainer> Open(const void* data, uint64_t size);

 private:
  struct Opened {
    const void* data;
    uint64_t size;
    std::weak_ptr<const kit::ContextContainer> context;
  };
  const std::shared_ptr<kit::WeightPool> weights_ = std::make_shared<kit::WeightPool>();
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Plan>> plans_;
  std::vector<Opened> opened_;
};

}  // namespace epiphyte::cpu
