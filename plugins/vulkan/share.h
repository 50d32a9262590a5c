// State that the vulkan providers of one share group have in common; see epiphyte/kit/abi/share.hpp.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "epiphyte/kit/container/container.hpp"
#include "plugins/vulkan/exec/compiled_graph.h"

namespace epiphyte::vulkan {

// The group's workspace; providers reach it through kit::ShareGroup. [any thread]
class ShareWorkspace {
 public:
  // Adds the graphs that a session of the group compiled. They are kept, in the order of their sessions, until the last
  // session writes all of them. Throws if two have the same name, because loading could not tell them apart.
  void AddGraphs(std::span<const std::shared_ptr<CompiledGraph>> graphs);
  std::vector<std::shared_ptr<CompiledGraph>> TakeGraphs();

  // The store for the constants of the group's sessions. Equal constants are on a device only once.
  const std::shared_ptr<ConstantStore>& constants() const { return constants_; }

 private:
  const std::shared_ptr<ConstantStore> constants_ = std::make_shared<ConstantStore>();
  std::mutex mutex_;
  std::vector<std::shared_ptr<CompiledGraph>> graphs_;
};

}  // namespace epiphyte::vulkan
