#include "plugins/vulkan/device/compiled_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/round_up.hpp"
#include "plugins/vulkan/device/vk_memory.h"
#include "plugins/vulkan/device/vk_recording.h"
#include "plugins/vulkan/device/vk_stream.h"

namespace epiphyte::vulkan {
namespace {

// Work per submission that a device of each kind completes in well under a second, even with slow kernels. Driver
// watchdogs act after two seconds, and a run can be cancelled only between submissions.
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

constexpr size_t kInFlight = 3;  // submissions under way: the device works on one while the others wait
constexpr size_t kMostRecordings = 8;

using kit::RoundUp;

void CheckRange(const BufferRange& range, std::string_view whose) {
  if (range.buffer == nullptr || range.size > range.buffer->size() || range.offset > range.buffer->size() - range.size)
    kit::FailWith(EP_STATUS_EP_FAIL, whose, ": a range of ", range.size, " bytes at ", range.offset,
                  " is not in its buffer");
}

void CheckBegin(const BufferRange& range, const Capabilities& can, std::string_view whose) {
  if (range.offset % can.buffer_offset_alignment != 0)
    kit::FailWith(EP_STATUS_EP_FAIL, whose, ": a binding begins at ", range.offset, ", a multiple of ",
                  can.buffer_offset_alignment, " is expected");
}

// Makes the parts that all recordings of a program share.
class Preparation {
 public:
  Preparation(Device& device, const CompileOptions& options, ProgramParts& parts)
      : device_(device), options_(options), parts_(parts) {}

  void Prepare() {
    for (const Command& command : parts_.list.commands) Check(command);
    MakePipelines();
    PlaceParameters();
    Divide();
    parts_.profile = options_.profile;
    WarmUp();
  }

 private:
  uint64_t BytesOf(const Command::Binding& binding) const {
    return binding.slot < 0 ? binding.range.size : parts_.list.slots[static_cast<size_t>(binding.slot)];
  }

  void Check(const Command& command) {
    const Capabilities& can = device_.info().capabilities;
    const std::string_view name = command.shader.empty() ? "a copy" : std::string_view(command.shader);
    for (const Command::Binding& binding : command.bindings) {
      if (binding.slot < 0) {
        CheckRange(binding.range, name);
        if (!command.shader.empty()) CheckBegin(binding.range, can, name);
      } else if (static_cast<size_t>(binding.slot) >= parts_.list.slots.size()) {
        kit::FailWith(EP_STATUS_EP_FAIL, name, ": slot ", binding.slot, " of ", parts_.list.slots.size());
      }
      if (!command.shader.empty() && BytesOf(binding) > can.max_buffer_range)
        kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, name, ": a tensor of ", BytesOf(binding), " bytes, ",
                      device_.info().name, " binds at most ", can.max_buffer_range);
    }
    if (command.shader.empty() || command.copies) {
      if (command.bindings.size() != 2 || BytesOf(command.bindings[0]) != BytesOf(command.bindings[1]))
        kit::FailWith(EP_STATUS_EP_FAIL, name, " is from one range to another of the same size");
      if (command.shader.empty()) {
        parts_.keys.push_back({nullptr, 0, {}, 0});
        return;
      }
    }
    const Shader* shader = device_.kernels().Find(command.shader);
    if (shader == nullptr) kit::FailWith(EP_STATUS_EP_FAIL, "there is no shader '", command.shader, "'");
    if (command.bindings.size() > can.max_bindings)
      kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, command.shader, ": ", command.bindings.size(), " bindings, ",
                    device_.info().name, " takes ", can.max_bindings);
    for (size_t i = 0; i < 3; ++i)
      if (command.groups[i] > can.max_workgroup_count[i])
        kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, command.shader, ": ", command.groups[i], " workgroups, ",
                      device_.info().name, " runs at most ", can.max_workgroup_count[i], " in dimension ", i);
    parts_.keys.push_back({shader, static_cast<uint32_t>(command.bindings.size() + 1), command.specialization,
                           command.full_subgroups && can.full_subgroups ? can.subgroup_size : 0});
  }

  void MakePipelines() {
    Pipelines& pipelines = *device_.handles().pipelines;
    const std::set<PipelineKey> distinct(parts_.keys.begin(), parts_.keys.end());
    std::vector<const PipelineKey*> missing;
    for (const PipelineKey& key : distinct)
      if (key.shader != nullptr && !pipelines.Has(key)) missing.push_back(&key);
    const auto make = [&](size_t i) { pipelines.Get(*missing[i]); };
    if (options_.parallel_for && missing.size() > 1) {
      options_.parallel_for(missing.size(), make);
    } else {
      for (size_t i = 0; i < missing.size(); ++i) make(i);
    }
    for (const PipelineKey* key : missing) new_.insert(*key);
  }

  // Has a software device compile new pipelines now. Otherwise it compiles a pipeline at its first dispatch; a dispatch
  // without workgroups is enough. It keeps the code in a cache on disk. Validation layers object to dispatches without
  // workgroups.
  void WarmUp() {
    if (new_.empty() || device_.info().type != DeviceType::kSoftware || device_.instance().validation().Any()) return;
    Recording(device_, parts_).WarmUp(new_);
  }

  void PlaceParameters() {
    const std::vector<Command>& commands = parts_.list.commands;
    const uint64_t alignment = device_.info().capabilities.buffer_offset_alignment;
    uint64_t bytes = 0;
    for (const Command& command : commands) {
      parts_.parameter_offsets.push_back(bytes);
      bytes = RoundUp(bytes + std::max<uint64_t>(command.parameters.size(), 1) * sizeof(uint32_t), alignment);
    }
    parts_.placeholder = bytes;
    parts_.parameters =
        device_.Allocate(bytes + kPlaceholderBytes, "parameters", MemoryUse::kDevice, options_.limit);
    std::vector<std::byte> image(bytes);
    for (size_t i = 0; i < commands.size(); ++i)
      std::ranges::copy(std::as_bytes(std::span(commands[i].parameters)),
                        image.begin() + static_cast<ptrdiff_t>(parts_.parameter_offsets[i]));
    const HostToDevice copy = {{parts_.parameters, 0, bytes}, image.data()};
    device_.Upload(std::span(&copy, 1));
  }

  // Divides the commands into submissions: finds the first command of each.
  void Divide() {
    const std::vector<Command>& commands = parts_.list.commands;
    const uint64_t most = options_.submission_work > 0 ? options_.submission_work : SubmissionWork(device_.info().type);
    parts_.first = {0};
    uint64_t work = 0;
    for (size_t i = 0; i < commands.size(); ++i) {
      const uint64_t own = std::max<uint64_t>(commands[i].work, 1);
      if (work > 0 && (own > most || work > most - own)) {
        parts_.first.push_back(i);
        work = 0;
      }
      work += std::min(own, most);
    }
  }

  Device& device_;
  const CompileOptions& options_;
  ProgramParts& parts_;
  std::set<PipelineKey> new_;  // pipelines that were made for this program
};

}  // namespace

CompiledProgram::CompiledProgram(std::shared_ptr<Device> device, const CommandList& list, const CompileOptions& options)
    : device_(std::move(device)), parts_(std::make_unique<ProgramParts>()) {
  device_->handles().ThrowIfLost();
  parts_->list = list;
  Preparation(*device_, options, *parts_).Prepare();
  // A program without slots is recorded once, here.
  if (list.slots.empty()) RecordingFor({});
  if (device_->instance().validation().Any()) device_->instance().ThrowIfInvalid();
}

CompiledProgram::~CompiledProgram() {
  if (parts_->timeline != nullptr) parts_->timeline->Finish(parts_->submitted);
}

size_t CompiledProgram::submission_count() const { return parts_->first.size(); }
size_t CompiledProgram::barrier_count() const {
  const std::lock_guard lock(mutex_);
  return recordings_.empty() ? 0 : recordings_[0]->barrier_count();
}
size_t CompiledProgram::recording_count() const {
  const std::lock_guard lock(mutex_);
  return recordings_.size();
}

void CompiledProgram::CheckSlots(std::span<const BufferRange> slots) const {
  const std::vector<uint64_t>& sizes = parts_->list.slots;
  if (slots.size() != sizes.size())
    kit::FailWith(EP_STATUS_EP_FAIL, "a program with ", sizes.size(), " slots was given ", slots.size(), " ranges");
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].size != sizes[i])
      kit::FailWith(EP_STATUS_EP_FAIL, "slot ", i, " has ", sizes[i], " bytes, a range of ", slots[i].size, " was given");
    if (slots[i].size == 0) continue;
    CheckRange(slots[i], "a slot");
    CheckBegin(slots[i], device_->info().capabilities, "a slot");
    if (&slots[i].buffer->block().memory_of != device_->handles().memory.get())
      kit::FailWith(EP_STATUS_DEVICE_RESET, "slot ", i, ": the buffer is of a device that was lost since it was made");
  }
}

Recording& CompiledProgram::RecordingFor(std::span<const BufferRange> slots) {
  key_.clear();
  for (const BufferRange& range : slots) {
    key_.push_back(range.size == 0 ? 0 : range.buffer->id());
    key_.push_back(range.size == 0 ? 0 : range.offset);
  }
  const auto is_it = [&](const auto& recording) { return recording->key() == key_; };
  auto found = std::ranges::find_if(recordings_, is_it);
  if (found == recordings_.end()) {
    if (recordings_.size() < kMostRecordings)
      recordings_.push_back(std::make_unique<Recording>(*device_, *parts_));
    found = std::prev(recordings_.end());
    try {
      (*found)->Record(slots, key_);
    } catch (...) {
      recordings_.erase(found);
      throw;
    }
  }
  std::rotate(recordings_.begin(), found, found + 1);
  return *recordings_[0];
}

void CompiledProgram::Submit(Stream& stream, std::span<const BufferRange> slots, const SubmitOptions& options) {
  if (&stream.parts().device != &device_->handles())
    kit::FailWith(EP_STATUS_DEVICE_RESET, "the program is of a device that was lost; make a new session");
  const std::lock_guard lock(mutex_);
  device_->handles().ThrowIfLost();
  CheckSlots(slots);
  ProgramParts& parts = *parts_;
  if (parts.timeline != nullptr) parts.timeline->Wait(parts.submitted, UINT64_MAX);
  const Recording& recording = RecordingFor(slots);
  std::array<uint64_t, kInFlight> numbers = {};
  size_t count = 0;
  for (const VkCommandBuffer segment : recording.segments()) {
    if (count >= kInFlight) stream.Await(numbers[count % kInFlight]);
    if (options.cancelled && options.cancelled()) throw kit::Error(EP_STATUS_CANCELED, "the run was cancelled");
    numbers[count++ % kInFlight] = parts.submitted = stream.Submit(segment);
    parts.timeline = stream.parts().timeline;
  }
  if (device_->instance().validation().Any()) device_->instance().ThrowIfInvalid();
}

std::vector<CommandTime> CompiledProgram::Times() const {
  if (recordings_.empty()) return {};
  return recordings_[0]->ReadTimes();
}

}  // namespace epiphyte::vulkan
