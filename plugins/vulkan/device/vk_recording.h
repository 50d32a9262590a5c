// Recording: the commands of a program for one combination of ranges in its slots. Internal to device/.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "plugins/vulkan/device/commands.h"
#include "plugins/vulkan/device/hazards.h"
#include "plugins/vulkan/device/vk_pipelines.h"
#include "plugins/vulkan/device/vk_timeline.h"

namespace epiphyte::vulkan {

// The parts that all recordings of a program share.
struct ProgramParts {
  CommandList list;
  std::vector<PipelineKey> keys;  // by command; without shader for a copy
  std::vector<uint64_t> parameter_offsets;
  std::shared_ptr<Buffer> parameters;
  uint64_t placeholder = 0;   // offset in `parameters` of the bytes that stand in for empty bindings
  std::vector<size_t> first;  // first command of each submission
  bool profile = false;
  std::shared_ptr<Timeline> timeline;  // timeline of the last submission; null before the first one
  uint64_t submitted = 0;              // number of the last submission on the timeline
};

inline constexpr uint64_t kPlaceholderBytes = 16;

class Recording {
 public:
  Recording(Device& device, const ProgramParts& parts);

  // Records the commands, in place of an earlier recording, which must not be under way. `key` identifies the ranges.
  void Record(std::span<const BufferRange> slots, std::vector<uint64_t> key);
  // Dispatches each of these pipelines without workgroups, and waits until the device is done. Afterwards nothing is
  // recorded.
  void WarmUp(std::set<PipelineKey> pipelines);
  const std::vector<uint64_t>& key() const { return key_; }
  std::span<const VkCommandBuffer> segments() const { return segments_; }
  size_t barrier_count() const { return barriers_; }
  std::vector<CommandTime> ReadTimes() const;

 private:
  BufferRange RangeOf(const Command::Binding& binding) const;
  void MakeDescriptorSets();
  void WriteDescriptorSets();
  VkBuffer MakeView(MemoryBlock& block, uint64_t offset, uint64_t bytes);
  void RecordBefore(VkCommandBuffer commands);
  void RecordCommand(VkCommandBuffer commands, size_t index, VkPipeline& bound);
  void Bind(VkCommandBuffer commands, size_t index, VkPipeline& bound);
  bool IsLeftOut(const Command& command) const;
  void Barrier(VkCommandBuffer commands, std::span<const Touch> touches, Hazards::Stages stage);

  Device& device_;
  DeviceHandles& vk_;
  const ProgramParts& parts_;
  std::vector<uint64_t> key_;
  std::span<const BufferRange> slots_;  // set while commands are recorded; otherwise slots count as empty ranges
  Hazards hazards_;
  Owned<VkDescriptorPool> sets_pool_;
  std::vector<VkDescriptorSet> sets_;   // by command; null for a copy
  std::vector<Owned<VkBuffer>> views_;  // buffer views for GPU-assisted validation
  Owned<VkCommandPool> pool_;
  std::vector<VkCommandBuffer> segments_;  // one for each submission
  Owned<VkQueryPool> queries_;
  size_t barriers_ = 0;
};

}  // namespace epiphyte::vulkan
