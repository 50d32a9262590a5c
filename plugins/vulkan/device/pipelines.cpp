#include <cstring>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/vk_pipelines.h"

namespace epiphyte::vulkan {

Pipelines::Pipelines(DeviceHandles& device) : device_(device) {
  const VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  cache_ = Make<VkPipelineCache>(device, device.vk.vkCreatePipelineCache, device.vk.vkDestroyPipelineCache, info,
                                 "vkCreatePipelineCache");
}

const PipelineLayout& Pipelines::LayoutFor(uint32_t bindings) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<PipelineLayout>& layout = layouts_[bindings];
  if (layout != nullptr) return *layout;
  std::vector<VkDescriptorSetLayoutBinding> slots(bindings);
  for (uint32_t i = 0; i < bindings; ++i)
    slots[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = bindings;
  set.pBindings = slots.data();
  auto made = std::make_unique<PipelineLayout>();
  made->set = Make<VkDescriptorSetLayout>(device_, device_.vk.vkCreateDescriptorSetLayout,
                                          device_.vk.vkDestroyDescriptorSetLayout, set, "vkCreateDescriptorSetLayout");
  const VkDescriptorSetLayout handle = made->set.get();
  VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 1;
  info.pSetLayouts = &handle;
  made->layout = Make<VkPipelineLayout>(device_, device_.vk.vkCreatePipelineLayout, device_.vk.vkDestroyPipelineLayout,
                                        info, "vkCreatePipelineLayout");
  layout = std::move(made);
  return *layout;
}

VkShaderModule Pipelines::ModuleFor(const Shader& shader) {
  const std::lock_guard lock(mutex_);
  Owned<VkShaderModule>& module = modules_[&shader];
  if (module.get() != VK_NULL_HANDLE) return module.get();
  VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  info.codeSize = shader.words.size_bytes();
  info.pCode = shader.words.data();
  module = Make<VkShaderModule>(device_, device_.vk.vkCreateShaderModule, device_.vk.vkDestroyShaderModule, info,
                                "vkCreateShaderModule");
  return module.get();
}

bool Pipelines::Has(const PipelineKey& key) const {
  const std::lock_guard lock(mutex_);
  return pipelines_.contains(key);
}

uint64_t Pipelines::count() const {
  const std::lock_guard lock(mutex_);
  return pipelines_.size();
}

VkPipeline Pipelines::Get(const PipelineKey& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = pipelines_.find(key);
    if (found != pipelines_.end()) return found->second.get();
  }
  std::vector<VkSpecializationMapEntry> entries(key.specialization.size());
  for (uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i, i * 4, 4};
  const VkSpecializationInfo specialization = {static_cast<uint32_t>(entries.size()), entries.data(),
                                               entries.size() * 4, key.specialization.data()};
  VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = ModuleFor(*key.shader);
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = entries.empty() ? nullptr : &specialization;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required = {
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  if (key.subgroup_size != 0) {
    required.requiredSubgroupSize = key.subgroup_size;
    info.stage.pNext = &required;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  info.layout = LayoutFor(key.bindings).layout.get();
  info.basePipelineIndex = -1;
  // The pipeline is made without the lock, because that may take long and several threads make pipelines at once. If
  // another thread has made the same one meanwhile, this one is dropped.
  VkPipeline pipeline = VK_NULL_HANDLE;
  device_.Check(
      device_.vk.vkCreateComputePipelines(device_.device, cache_.get(), 1, &info, nullptr, &pipeline),
      "vkCreateComputePipelines", key.shader->name);
  ++device_.objects;
  Owned<VkPipeline> made(device_.device, pipeline, device_.vk.vkDestroyPipeline);
  const std::lock_guard lock(mutex_);
  return pipelines_.try_emplace(key, std::move(made)).first->second.get();
}

}  // namespace epiphyte::vulkan
