// Pipelines: compute pipelines by shader and specialization, made at their first use and kept. Internal to device/.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/vulkan/device/vk_device.h"

namespace epiphyte::vulkan {

// A layout with storage buffers 0, 1, …, bindings - 1 in set 0.
struct PipelineLayout {
  Owned<VkDescriptorSetLayout> set;
  Owned<VkPipelineLayout> layout;
};

struct PipelineKey {
  const Shader* shader = nullptr;
  uint32_t bindings = 1;
  std::vector<uint32_t> specialization;
  uint32_t subgroup_size = 0;  // required size of all subgroups, which are full; 0: the driver chooses

  auto operator<=>(const PipelineKey&) const = default;
};

// [any thread]
class Pipelines {
 public:
  explicit Pipelines(DeviceHandles& device);

  const PipelineLayout& LayoutFor(uint32_t bindings);
  VkPipeline Get(const PipelineKey& key);
  bool Has(const PipelineKey& key) const;
  uint64_t count() const;

  std::vector<std::byte> CacheData();
  std::string UseCacheData(std::span<const std::byte> data);

 private:
  VkShaderModule ModuleFor(const Shader& shader);

  DeviceHandles& device_;
  Owned<VkPipelineCache> cache_;
  mutable std::mutex mutex_;
  std::mutex cache_mutex_;  // guards reading cache_'s data and merging others into it
  std::map<uint32_t, std::unique_ptr<PipelineLayout>> layouts_;
  std::map<const Shader*, Owned<VkShaderModule>> modules_;
  std::map<PipelineKey, Owned<VkPipeline>> pipelines_;
};

}  // namespace epiphyte::vulkan
