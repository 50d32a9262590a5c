#include "plugins/vulkan/device/compiled_program.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/hazards.h"
#include "plugins/vulkan/device/vk_memory.h"
#include "plugins/vulkan/device/vk_pipelines.h"

namespace epiphyte::vulkan {
namespace {

// What a device of each kind does in well under a second, even with slow kernels: drivers' watchdogs bite after two, and
// a run can be cancelled between submissions.
uint64_t SubmissionWork(DeviceType type) {
  switch (type) {
    case DeviceType::kSoftware:
      return uint64_t{1} << 29;
    case DeviceType::kDiscrete:
      return uint64_t{1} << 36;
    default:
      return uint64_t{1} << 33;
  }
}

constexpr size_t kInFlight = 2;  // submissions: the device works on one while the next one is handed over
constexpr uint64_t kPlaceholder = 16;  // bytes for bindings of none

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

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
  return {reinterpret_cast<uintptr_t>(&range.buffer->block()), range.buffer->offset_in_block() + range.offset, range.size,
          access != Access::kWrite, access != Access::kRead};
}

}  // namespace

struct ProgramRecords {
  struct HostCopy {
    BufferRange range;
    std::byte* host = nullptr;  // where the range is mapped, or its staging
  };
  std::vector<HostCopy> inputs;
  std::vector<HostCopy> outputs;
  // Everything that the recorded commands use.
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::vector<Owned<VkBuffer>> views;
  std::shared_ptr<Buffer> parameters;  // with the placeholder at its end
  std::shared_ptr<Buffer> upload;
  std::shared_ptr<Buffer> download;
  Owned<VkDescriptorPool> sets_pool;
  std::vector<VkDescriptorSet> sets;  // by command
  Owned<VkCommandPool> commands_pool;
  std::vector<VkCommandBuffer> segments;  // one for each submission
  Owned<VkFence> fences[kInFlight];
  Owned<VkQueryPool> queries;
  size_t command_count = 0;
  size_t barriers = 0;
};

namespace {

class Recorder {
 public:
  Recorder(Device& device, const CommandList& list, const CompileOptions& options, ProgramRecords& records)
      : device_(device), vk_(device.handles()), list_(list), options_(options), records_(records) {}

  void Record() {
    CheckCommands();
    MakePipelines();
    PlaceParameters();
    PlaceHostCopies();
    MakeDescriptorSets();
    if (options_.profile && device_.info().timestamps && !list_.commands.empty()) MakeQueries();
    RecordSegments();
    for (Owned<VkFence>& fence : records_.fences) fence = MakeFence(vk_);
    WarmUp();
    records_.command_count = list_.commands.size();
  }

 private:
  void CheckRange(const BufferRange& range, std::string_view whose) const {
    if (range.buffer == nullptr || range.size > range.buffer->size() ||
        range.offset > range.buffer->size() - range.size)
      kit::FailWith(EP_STATUS_EP_FAIL, whose, ": a range of ", range.size, " bytes at ", range.offset,
                    " is not in its buffer");
  }

  void CheckCommands() {
    const Capabilities& can = device_.info().capabilities;
    for (const BufferRange& range : list_.inputs) CheckRange(range, "an input");
    for (const BufferRange& range : list_.outputs) CheckRange(range, "an output");
    for (const Command& command : list_.commands) {
      const Shader* shader = device_.kernels().Find(command.shader);
      if (shader == nullptr) kit::FailWith(EP_STATUS_EP_FAIL, "there is no shader '", command.shader, "'");
      if (command.bindings.size() > can.max_bindings)
        kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, command.shader, ": ", command.bindings.size(), " bindings, ",
                      device_.info().name, " takes ", can.max_bindings);
      for (size_t i = 0; i < 3; ++i)
        if (command.groups[i] > can.max_workgroup_count[i])
          kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, command.shader, ": ", command.groups[i], " workgroups, ",
                        device_.info().name, " runs at most ", can.max_workgroup_count[i], " in dimension ", i);
      for (const Command::Binding& binding : command.bindings) {
        CheckRange(binding.range, command.shader);
        if (binding.range.size > can.max_buffer_range)
          kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, command.shader, ": a tensor of ", binding.range.size, " bytes, ",
                        device_.info().name, " binds at most ", can.max_buffer_range);
        if (binding.range.offset % can.buffer_offset_alignment != 0)
          kit::FailWith(EP_STATUS_EP_FAIL, command.shader, ": a binding begins at ", binding.range.offset,
                        ", a multiple of ", can.buffer_offset_alignment, " is expected");
      }
      keys_.push_back({shader, static_cast<uint32_t>(command.bindings.size() + 1), command.specialization});
    }
  }

  void MakePipelines() {
    Pipelines& pipelines = *vk_.pipelines;
    const std::set<PipelineKey> distinct(keys_.begin(), keys_.end());
    std::vector<const PipelineKey*> missing;
    for (const PipelineKey& key : distinct)
      if (!pipelines.Has(key)) missing.push_back(&key);
    const auto make = [&](size_t i) { pipelines.Get(*missing[i]); };
    if (options_.parallel_for && missing.size() > 1) {
      options_.parallel_for(missing.size(), make);
    } else {
      for (size_t i = 0; i < missing.size(); ++i) make(i);
    }
    for (const PipelineKey* key : missing) new_.insert(*key);
  }

  // A software device compiles a pipeline when it is dispatched first, be it with no workgroup, and keeps the code in a
  // cache on disk. Validation layers have something against no workgroups.
  void WarmUp() {
    if (new_.empty() || device_.info().type != DeviceType::kSoftware || device_.instance().validation().Any()) return;
    const Owned<VkCommandPool> pool = MakeCommandPool(vk_);
    const VkCommandBuffer commands = MakeCommandBuffers(vk_, pool.get(), 1)[0];
    BeginCommands(vk_, commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (new_.erase(keys_[i]) == 0) continue;
      VkPipeline bound = VK_NULL_HANDLE;
      Bind(commands, i, bound);
      vk_.vk.vkCmdDispatch(commands, 0, 0, 0);
    }
    EndCommands(vk_, commands);
    vk_.Submit(commands, records_.fences[0].get());
    vk_.Wait(records_.fences[0].get());
  }

  void PlaceParameters() {
    const uint64_t alignment = device_.info().capabilities.buffer_offset_alignment;
    uint64_t bytes = 0;
    for (const Command& command : list_.commands) {
      parameter_offsets_.push_back(bytes);
      bytes = RoundUp(bytes + ParameterBytes(command), alignment);
    }
    placeholder_ = bytes;
    records_.parameters = device_.Allocate(bytes + kPlaceholder, "parameters");
    std::vector<std::byte> image(bytes);
    for (size_t i = 0; i < list_.commands.size(); ++i)
      std::ranges::copy(std::as_bytes(std::span(list_.commands[i].parameters)),
                        image.begin() + static_cast<ptrdiff_t>(parameter_offsets_[i]));
    const HostToDevice copy = {{records_.parameters, 0, bytes}, image.data()};
    device_.Upload(std::span(&copy, 1));
  }

  // What the host can't reach is staged in buffers of the program's own.
  void PlaceHostCopies() {
    const auto place = [&](const std::vector<BufferRange>& ranges, std::vector<ProgramRecords::HostCopy>& copies,
                           std::shared_ptr<Buffer>& staging, MemoryUse use, std::string_view what) {
      uint64_t bytes = 0;
      for (const BufferRange& range : ranges)
        if (range.buffer->mapped() == nullptr) bytes += RoundUp(range.size, 64);
      if (bytes > 0) staging = device_.Allocate(bytes, what, use);
      uint64_t at = 0;
      for (const BufferRange& range : ranges) {
        records_.buffers.push_back(range.buffer);
        if (range.buffer->mapped() != nullptr) {
          copies.push_back({range, range.buffer->mapped() + range.offset});
        } else {
          copies.push_back({range, range.size == 0 ? nullptr : staging->mapped() + at});
          at += RoundUp(range.size, 64);
        }
      }
    };
    place(list_.inputs, records_.inputs, records_.upload, MemoryUse::kUpload, "inputs");
    place(list_.outputs, records_.outputs, records_.download, MemoryUse::kDownload, "outputs");
  }

  static uint64_t ParameterBytes(const Command& command) {
    return std::max<uint64_t>(command.parameters.size(), 1) * sizeof(uint32_t);
  }

  // Ranges of no bytes can't be bound.
  BufferRange BoundRange(const BufferRange& range) const {
    return range.size > 0 ? range : BufferRange{records_.parameters, placeholder_, kPlaceholder};
  }

  void MakeDescriptorSets() {
    const size_t count = list_.commands.size();
    if (count == 0) return;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0};
    std::vector<VkDescriptorSetLayout> layouts;
    for (const PipelineKey& key : keys_) {
      size.descriptorCount += key.bindings;
      layouts.push_back(vk_.pipelines->LayoutFor(key.bindings).set.get());
    }
    VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = static_cast<uint32_t>(count);
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    records_.sets_pool = Make<VkDescriptorPool>(vk_, vk_.vk.vkCreateDescriptorPool, vk_.vk.vkDestroyDescriptorPool, pool,
                                                "vkCreateDescriptorPool");
    VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = records_.sets_pool.get();
    allocate.descriptorSetCount = static_cast<uint32_t>(count);
    allocate.pSetLayouts = layouts.data();
    records_.sets.resize(count);
    vk_.Check(vk_.vk.vkAllocateDescriptorSets(vk_.device, &allocate, records_.sets.data()), "vkAllocateDescriptorSets");
    vk_.objects += count;

    std::vector<VkDescriptorBufferInfo> ranges;
    ranges.reserve(size.descriptorCount);
    std::vector<VkWriteDescriptorSet> writes;
    const auto bind = [&](const BufferRange& range) {
      const uint64_t offset = range.buffer->offset_in_block() + range.offset;
      // In whole words, which every buffer has room for: shaders may read small elements by words.
      const uint64_t bytes = RoundUp(range.size, 4);
      if (device_.instance().validation().gpu_assisted) {
        ranges.push_back({MakeView(range.buffer->block(), offset, bytes), 0, bytes});
      } else {
        ranges.push_back({range.buffer->block().buffer.get(), offset, bytes});
      }
    };
    for (size_t i = 0; i < count; ++i) {
      const Command& command = list_.commands[i];
      VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
      write.dstSet = records_.sets[i];
      write.descriptorCount = keys_[i].bindings;
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = ranges.data() + ranges.size();
      bind({records_.parameters, parameter_offsets_[i], ParameterBytes(command)});
      for (const Command::Binding& binding : command.bindings) {
        bind(BoundRange(binding.range));
        records_.buffers.push_back(binding.range.buffer);
      }
      writes.push_back(write);
    }
    vk_.vk.vkUpdateDescriptorSets(vk_.device, static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
  }

  // A VkBuffer of exactly these bytes: GPU-assisted validation compares with the end of the buffer, not with that of the
  // range that is bound.
  VkBuffer MakeView(MemoryBlock& block, uint64_t offset, uint64_t bytes) {
    VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    records_.views.push_back(
        Make<VkBuffer>(vk_, vk_.vk.vkCreateBuffer, vk_.vk.vkDestroyBuffer, info, "vkCreateBuffer"));
    const VkBuffer view = records_.views.back().get();
    VkMemoryRequirements requirements;
    vk_.vk.vkGetBufferMemoryRequirements(vk_.device, view, &requirements);
    vk_.Check(vk_.vk.vkBindBufferMemory(vk_.device, view, block.memory.get(), offset), "vkBindBufferMemory");
    return view;
  }

  void MakeQueries() {
    VkQueryPoolCreateInfo info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = static_cast<uint32_t>(2 * list_.commands.size());
    records_.queries = Make<VkQueryPool>(vk_, vk_.vk.vkCreateQueryPool, vk_.vk.vkDestroyQueryPool, info,
                                         "vkCreateQueryPool");
  }

  // The first command of each submission.
  std::vector<size_t> Divide() const {
    const uint64_t most = options_.submission_work > 0 ? options_.submission_work : SubmissionWork(device_.info().type);
    std::vector<size_t> first = {0};
    uint64_t work = 0;
    for (size_t i = 0; i < list_.commands.size(); ++i) {
      const uint64_t own = std::max<uint64_t>(list_.commands[i].work, 1);
      if (work > 0 && (own > most || work > most - own)) {
        first.push_back(i);
        work = 0;
      }
      work += std::min(own, most);
    }
    return first;
  }

  void Barrier(VkCommandBuffer commands, const std::optional<Hazards::Stages>& before, Hazards::Stages stage) {
    if (!before) return;
    RecordBarrier(vk_, commands, StagesOf(*before), WritesOf(*before), StagesOf(stage), AccessesOf(stage));
    ++records_.barriers;
  }

  void RecordSegments() {
    const std::vector<size_t> first = Divide();
    records_.commands_pool = MakeCommandPool(vk_);
    records_.segments = MakeCommandBuffers(vk_, records_.commands_pool.get(), first.size());
    Hazards hazards;
    for (size_t i = 0; i < first.size(); ++i) {
      const VkCommandBuffer commands = records_.segments[i];
      BeginCommands(vk_, commands, 0);
      if (i == 0) RecordBefore(commands, hazards);
      VkPipeline bound = VK_NULL_HANDLE;
      const size_t end = i + 1 < first.size() ? first[i + 1] : list_.commands.size();
      for (size_t command = first[i]; command < end; ++command) RecordCommand(commands, command, bound, hazards);
      if (i + 1 == first.size()) RecordAfter(commands, hazards);
      EndCommands(vk_, commands);
    }
  }

  void RecordBefore(VkCommandBuffer commands, Hazards& hazards) {
    // What other programs and earlier runs wrote is seen.
    constexpr Hazards::Stages kAll = Hazards::kShader | Hazards::kTransfer;
    RecordBarrier(vk_, commands, StagesOf(kAll), WritesOf(kAll), StagesOf(kAll), AccessesOf(kAll));
    if (records_.queries.get() != VK_NULL_HANDLE)
      vk_.vk.vkCmdResetQueryPool(commands, records_.queries.get(), 0, static_cast<uint32_t>(2 * list_.commands.size()));
    for (const ProgramRecords::HostCopy& input : records_.inputs)
      if (input.range.buffer->mapped() == nullptr && input.range.size > 0)
        RecordCopy(commands, hazards, records_.upload, static_cast<uint64_t>(input.host - records_.upload->mapped()),
                   input.range.buffer, input.range.offset, input.range.size);
  }

  void RecordAfter(VkCommandBuffer commands, Hazards& hazards) {
    for (const ProgramRecords::HostCopy& output : records_.outputs)
      if (output.range.buffer->mapped() == nullptr && output.range.size > 0)
        RecordCopy(commands, hazards, output.range.buffer, output.range.offset, records_.download,
                   static_cast<uint64_t>(output.host - records_.download->mapped()), output.range.size);
    constexpr Hazards::Stages kAll = Hazards::kShader | Hazards::kTransfer;
    RecordBarrier(vk_, commands, StagesOf(kAll), WritesOf(kAll), VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  }

  void RecordCopy(VkCommandBuffer commands, Hazards& hazards, const std::shared_ptr<Buffer>& from, uint64_t from_at,
                  const std::shared_ptr<Buffer>& to, uint64_t to_at, uint64_t size) {
    const Touch touches[] = {TouchOf({from, from_at, size}, Access::kRead), TouchOf({to, to_at, size}, Access::kWrite)};
    Barrier(commands, hazards.Add(touches, Hazards::kTransfer), Hazards::kTransfer);
    const VkBufferCopy region = {from->offset_in_block() + from_at, to->offset_in_block() + to_at, size};
    vk_.vk.vkCmdCopyBuffer(commands, from->block().buffer.get(), to->block().buffer.get(), 1, &region);
  }

  void Bind(VkCommandBuffer commands, size_t index, VkPipeline& bound) {
    const VkPipeline pipeline = vk_.pipelines->Get(keys_[index]);
    if (pipeline != bound) vk_.vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    bound = pipeline;
    vk_.vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                   vk_.pipelines->LayoutFor(keys_[index].bindings).layout.get(), 0, 1,
                                   &records_.sets[index], 0, nullptr);
  }

  void RecordCommand(VkCommandBuffer commands, size_t index, VkPipeline& bound, Hazards& hazards) {
    const Command& command = list_.commands[index];
    std::vector<Touch> touches;
    for (const Command::Binding& binding : command.bindings)
      touches.push_back(TouchOf(BoundRange(binding.range), binding.access));
    Barrier(commands, hazards.Add(touches, Hazards::kShader), Hazards::kShader);

    Bind(commands, index, bound);
    const VkQueryPool queries = records_.queries.get();
    const uint32_t query = static_cast<uint32_t>(2 * index);
    if (queries != VK_NULL_HANDLE)
      vk_.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query);
    const auto [x, y, z] = command.groups;
    if (x > 0 && y > 0 && z > 0) vk_.vk.vkCmdDispatch(commands, x, y, z);
    if (queries != VK_NULL_HANDLE)
      vk_.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query + 1);
  }

  Device& device_;
  DeviceHandles& vk_;
  const CommandList& list_;
  const CompileOptions& options_;
  ProgramRecords& records_;
  std::vector<PipelineKey> keys_;  // by command
  std::set<PipelineKey> new_;      // those that were made for this program
  std::vector<uint64_t> parameter_offsets_;
  uint64_t placeholder_ = 0;
};

std::vector<CommandTime> ReadTimes(DeviceHandles& device, const ProgramRecords& records) {
  if (records.queries.get() == VK_NULL_HANDLE) return {};
  std::vector<uint64_t> stamps(2 * records.command_count);
  device.Check(device.vk.vkGetQueryPoolResults(device.device, records.queries.get(), 0,
                                               static_cast<uint32_t>(stamps.size()), stamps.size() * sizeof(uint64_t),
                                               stamps.data(), sizeof(uint64_t),
                                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
               "vkGetQueryPoolResults");
  const uint64_t mask = device.timestamp_bits >= 64 ? UINT64_MAX : (uint64_t{1} << device.timestamp_bits) - 1;
  const auto nanoseconds = [&](uint64_t from, uint64_t to) {
    return static_cast<uint64_t>(static_cast<double>((to - from) & mask) * device.timestamp_period);
  };
  std::vector<CommandTime> times(records.command_count);
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = {nanoseconds(stamps[0], stamps[2 * i]), nanoseconds(stamps[2 * i], stamps[2 * i + 1])};
  return times;
}

}  // namespace

CompiledProgram::CompiledProgram(std::shared_ptr<Device> device, const CommandList& list, const CompileOptions& options)
    : device_(std::move(device)), records_(std::make_unique<ProgramRecords>()) {
  device_->handles().ThrowIfLost();
  Recorder(*device_, list, options, *records_).Record();
  if (device_->instance().validation().Any()) device_->instance().ThrowIfInvalid();
}

CompiledProgram::~CompiledProgram() = default;

size_t CompiledProgram::submission_count() const { return records_->segments.size(); }
size_t CompiledProgram::barrier_count() const { return records_->barriers; }

void CompiledProgram::Run(std::span<const void* const> inputs, std::span<void* const> outputs,
                          const RunOptions& options) {
  ProgramRecords& records = *records_;
  if (inputs.size() != records.inputs.size() || outputs.size() != records.outputs.size())
    kit::FailWith(EP_STATUS_EP_FAIL, "a program with ", records.inputs.size(), " inputs and ", records.outputs.size(),
                  " outputs was given ", inputs.size(), " and ", outputs.size());
  DeviceHandles& device = device_->handles();
  const std::lock_guard lock(mutex_);
  device.ThrowIfLost();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (records.inputs[i].range.size > 0) std::memcpy(records.inputs[i].host, inputs[i], records.inputs[i].range.size);

  size_t submitted = 0;
  size_t done = 0;
  const auto wait = [&] { device.Wait(records.fences[done++ % kInFlight].get()); };
  try {
    for (const VkCommandBuffer segment : records.segments) {
      if (submitted - done == kInFlight) wait();
      if (options.cancelled && options.cancelled()) throw kit::Error(EP_STATUS_CANCELED, "the run was cancelled");
      device.Submit(segment, records.fences[submitted % kInFlight].get());
      ++submitted;
    }
    while (done < submitted) wait();
  } catch (...) {
    // The device may not use the program's memory when this returns.
    while (done < submitted) {
      try {
        wait();
      } catch (const kit::Error&) {
      }
    }
    throw;
  }

  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != nullptr && records.outputs[i].range.size > 0)
      std::memcpy(outputs[i], records.outputs[i].host, records.outputs[i].range.size);
  if (options.times != nullptr) *options.times = ReadTimes(device, records);
  if (device_->instance().validation().Any()) device_->instance().ThrowIfInvalid();
}

}  // namespace epiphyte::vulkan
