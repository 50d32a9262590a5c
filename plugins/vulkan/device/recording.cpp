#include <algorithm>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/round_up.hpp"
#include "plugins/vulkan/device/vk_memory.h"
#include "plugins/vulkan/device/vk_recording.h"

namespace epiphyte::vulkan {
namespace {

using kit::RoundUp;

constexpr Hazards::Stages kAllStages = Hazards::kShader | Hazards::kTransfer;

VkPipelineStageFlags StagesOf(Hazards::Stages stages) {
  VkPipelineStageFlags flags = 0;
  if ((stages & Hazards::kShader) != 0) flags |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if ((stages & Hazards::kTransfer) != 0) flags |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  return flags;
}
VkAccessFlags WritesOf(Hazards::Stages stages) {
  VkAccessFlags flags = 0;
  if ((stages & Hazards::kShader) != 0) flags |= VK_ACCESS_SHADER_WRITE_BIT;
  if ((stages & Hazards::kTransfer) != 0) flags |= VK_ACCESS_TRANSFER_WRITE_BIT;
  return flags;
}
VkAccessFlags AccessesOf(Hazards::Stages stages) {
  VkAccessFlags flags = WritesOf(stages);
  if ((stages & Hazards::kShader) != 0) flags |= VK_ACCESS_SHADER_READ_BIT;
  if ((stages & Hazards::kTransfer) != 0) flags |= VK_ACCESS_TRANSFER_READ_BIT;
  return flags;
}

Touch TouchOf(const BufferRange& range, Access access) {
  return {reinterpret_cast<uintptr_t>(&range.buffer->block()), range.buffer->offset_in_block() + range.offset,
          range.size, access != Access::kWrite, access != Access::kRead};
}

uint64_t ParameterBytes(const Command& command) {
  return std::max<uint64_t>(command.parameters.size(), 1) * sizeof(uint32_t);
}

}  // namespace

Recording::Recording(Device& device, const ProgramParts& parts)
    : device_(device), vk_(device.handles()), parts_(parts) {
  MakeDescriptorSets();
  if (parts.profile && device.info().timestamps && !parts.list.commands.empty()) {
    VkQueryPoolCreateInfo info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = static_cast<uint32_t>(2 * parts.list.commands.size());
    queries_ = Make<VkQueryPool>(vk_, vk_.vk.vkCreateQueryPool, vk_.vk.vkDestroyQueryPool, info, "vkCreateQueryPool");
  }
  pool_ = MakeCommandPool(vk_);
  segments_ = MakeCommandBuffers(vk_, pool_.get(), parts.first.size());
}

BufferRange Recording::RangeOf(const Command::Binding& binding) const {
  const auto slot = static_cast<size_t>(binding.slot);
  const BufferRange range = binding.slot < 0 ? binding.range : slots_.empty() ? BufferRange{} : slots_[slot];
  return range.size > 0 ? range : BufferRange{parts_.parameters, parts_.placeholder, kPlaceholderBytes};
}

void Recording::MakeDescriptorSets() {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0};
  std::vector<VkDescriptorSetLayout> layouts;
  for (const PipelineKey& key : parts_.keys) {
    if (key.shader == nullptr) continue;
    size.descriptorCount += key.bindings;
    layouts.push_back(vk_.pipelines->LayoutFor(key.bindings).set.get());
  }
  if (layouts.empty()) return;
  VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = static_cast<uint32_t>(layouts.size());
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  sets_pool_ = Make<VkDescriptorPool>(vk_, vk_.vk.vkCreateDescriptorPool, vk_.vk.vkDestroyDescriptorPool, pool,
                                      "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = sets_pool_.get();
  allocate.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  allocate.pSetLayouts = layouts.data();
  std::vector<VkDescriptorSet> sets(layouts.size());
  vk_.Check(vk_.vk.vkAllocateDescriptorSets(vk_.device, &allocate, sets.data()), "vkAllocateDescriptorSets");
  vk_.objects += sets.size();
  size_t next = 0;
  for (const PipelineKey& key : parts_.keys) sets_.push_back(key.shader == nullptr ? VK_NULL_HANDLE : sets[next++]);
}

void Recording::WriteDescriptorSets() {
  views_.clear();
  std::vector<VkDescriptorBufferInfo> ranges;
  size_t count = 0;
  for (const PipelineKey& key : parts_.keys) count += key.bindings;
  ranges.reserve(count);  // `writes` points into it
  std::vector<VkWriteDescriptorSet> writes;
  const auto bind = [&](const BufferRange& range) {
    const uint64_t offset = range.buffer->offset_in_block() + range.offset;
    // Ranges are rounded up to whole words of 4 bytes, which every buffer has room for: shaders may read small elements
    // by words.
    const uint64_t bytes = RoundUp(range.size, 4);
    if (device_.instance().validation().gpu_assisted) {
      ranges.push_back({MakeView(range.buffer->block(), offset, bytes), 0, bytes});
    } else {
      ranges.push_back({range.buffer->block().buffer.get(), offset, bytes});
    }
  };
  for (size_t i = 0; i < parts_.list.commands.size(); ++i) {
    if (parts_.keys[i].shader == nullptr) continue;
    const Command& command = parts_.list.commands[i];
    VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = sets_[i];
    write.descriptorCount = parts_.keys[i].bindings;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = ranges.data() + ranges.size();
    bind({parts_.parameters, parts_.parameter_offsets[i], ParameterBytes(command)});
    for (const Command::Binding& binding : command.bindings) bind(RangeOf(binding));
    writes.push_back(write);
  }
  if (!writes.empty())
    vk_.vk.vkUpdateDescriptorSets(vk_.device, static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
}

// Makes a VkBuffer of exactly these bytes. GPU-assisted validation compares accesses with the end of the buffer, not
// with the end of the bound range.
VkBuffer Recording::MakeView(MemoryBlock& block, uint64_t offset, uint64_t bytes) {
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  views_.push_back(Make<VkBuffer>(vk_, vk_.vk.vkCreateBuffer, vk_.vk.vkDestroyBuffer, info, "vkCreateBuffer"));
  const VkBuffer view = views_.back().get();
  VkMemoryRequirements requirements;
  vk_.vk.vkGetBufferMemoryRequirements(vk_.device, view, &requirements);
  vk_.Check(vk_.vk.vkBindBufferMemory(vk_.device, view, block.memory.get(), offset), "vkBindBufferMemory");
  return view;
}

void Recording::Record(std::span<const BufferRange> slots, std::vector<uint64_t> key) {
  key_.clear();  // the earlier recording is invalid from here on, even if this one fails
  barriers_ = 0;
  hazards_ = {};
  slots_ = slots;
  WriteDescriptorSets();
  vk_.Check(vk_.vk.vkResetCommandPool(vk_.device, pool_.get(), 0), "vkResetCommandPool");
  for (size_t i = 0; i < segments_.size(); ++i) {
    const VkCommandBuffer commands = segments_[i];
    BeginCommands(vk_, commands, 0);
    if (i == 0) RecordBefore(commands);
    VkPipeline bound = VK_NULL_HANDLE;
    const size_t end = i + 1 < segments_.size() ? parts_.first[i + 1] : parts_.list.commands.size();
    for (size_t command = parts_.first[i]; command < end; ++command) RecordCommand(commands, command, bound);
    if (i + 1 == segments_.size())
      RecordBarrier(vk_, commands, StagesOf(kAllStages), WritesOf(kAllStages), VK_PIPELINE_STAGE_HOST_BIT,
                    VK_ACCESS_HOST_READ_BIT);
    EndCommands(vk_, commands);
  }
  slots_ = {};
  key_ = std::move(key);
}

void Recording::WarmUp(std::set<PipelineKey> pipelines) {
  key_.clear();
  WriteDescriptorSets();
  const VkCommandBuffer commands = segments_[0];
  BeginCommands(vk_, commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  for (size_t i = 0; i < parts_.keys.size(); ++i) {
    if (pipelines.erase(parts_.keys[i]) == 0) continue;
    VkPipeline bound = VK_NULL_HANDLE;
    Bind(commands, i, bound);
    vk_.vk.vkCmdDispatch(commands, 0, 0, 0);
  }
  EndCommands(vk_, commands);
  Timeline timeline(vk_);
  timeline.Wait(timeline.Submit({&commands, 1}), UINT64_MAX);
}

void Recording::Bind(VkCommandBuffer commands, size_t index, VkPipeline& bound) {
  const VkPipeline pipeline = vk_.pipelines->Get(parts_.keys[index]);
  if (pipeline != bound) vk_.vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  bound = pipeline;
  vk_.vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                 vk_.pipelines->LayoutFor(parts_.keys[index].bindings).layout.get(), 0, 1,
                                 &sets_[index], 0, nullptr);
}

void Recording::RecordBefore(VkCommandBuffer commands) {
  // Commands wait until earlier submissions are complete and their writes are visible.
  RecordBarrier(vk_, commands, StagesOf(kAllStages), WritesOf(kAllStages), StagesOf(kAllStages),
                AccessesOf(kAllStages));
  if (queries_.get() != VK_NULL_HANDLE)
    vk_.vk.vkCmdResetQueryPool(commands, queries_.get(), 0, static_cast<uint32_t>(2 * parts_.list.commands.size()));
}

void Recording::Barrier(VkCommandBuffer commands, std::span<const Touch> touches, Hazards::Stages stage) {
  const std::optional<Hazards::Stages> before = hazards_.Add(touches, stage);
  if (!before) return;
  // All stages of later commands wait, not only this stage, because hazards_ has dropped the earlier touches.
  RecordBarrier(vk_, commands, StagesOf(*before), WritesOf(*before), StagesOf(kAllStages), AccessesOf(kAllStages));
  ++barriers_;
}

bool Recording::IsLeftOut(const Command& command) const {
  if (!command.copies && !command.shader.empty()) return false;
  const BufferRange from = RangeOf(command.bindings[0]);
  const BufferRange to = RangeOf(command.bindings[1]);
  return from.buffer == to.buffer && from.offset == to.offset;
}

void Recording::RecordCommand(VkCommandBuffer commands, size_t index, VkPipeline& bound) {
  const Command& command = parts_.list.commands[index];
  const VkQueryPool queries = queries_.get();
  const uint32_t query = static_cast<uint32_t>(2 * index);
  const bool is_left_out = IsLeftOut(command);
  if (!is_left_out) {
    std::vector<Touch> touches;
    for (const Command::Binding& binding : command.bindings)
      touches.push_back(TouchOf(RangeOf(binding), binding.access));
    Barrier(commands, touches, command.shader.empty() ? Hazards::kTransfer : Hazards::kShader);
  }
  if (queries != VK_NULL_HANDLE)
    vk_.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query);
  if (!is_left_out && command.shader.empty()) {
    const BufferRange from = RangeOf(command.bindings[0]);
    const BufferRange to = RangeOf(command.bindings[1]);
    const VkBufferCopy region = {from.buffer->offset_in_block() + from.offset, to.buffer->offset_in_block() + to.offset,
                                 from.size};
    vk_.vk.vkCmdCopyBuffer(commands, from.buffer->block().buffer.get(), to.buffer->block().buffer.get(), 1, &region);
  } else if (!is_left_out) {
    Bind(commands, index, bound);
    const auto [x, y, z] = command.groups;
    if (x > 0 && y > 0 && z > 0) vk_.vk.vkCmdDispatch(commands, x, y, z);
  }
  if (queries != VK_NULL_HANDLE)
    vk_.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query + 1);
}

std::vector<CommandTime> Recording::ReadTimes() const {
  if (queries_.get() == VK_NULL_HANDLE) return {};
  std::vector<uint64_t> stamps(2 * parts_.list.commands.size());
  vk_.Check(vk_.vk.vkGetQueryPoolResults(vk_.device, queries_.get(), 0, static_cast<uint32_t>(stamps.size()),
                                         stamps.size() * sizeof(uint64_t), stamps.data(), sizeof(uint64_t),
                                         VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
            "vkGetQueryPoolResults");
  const uint64_t mask = vk_.timestamp_bits >= 64 ? UINT64_MAX : (uint64_t{1} << vk_.timestamp_bits) - 1;
  const auto nanoseconds = [&](uint64_t from, uint64_t to) {
    return static_cast<uint64_t>(static_cast<double>((to - from) & mask) * vk_.timestamp_period);
  };
  std::vector<CommandTime> times(parts_.list.commands.size());
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = {nanoseconds(stamps[0], stamps[2 * i]), nanoseconds(stamps[2 * i], stamps[2 * i + 1])};
  return times;
}

}  // namespace epiphyte::vulkan
