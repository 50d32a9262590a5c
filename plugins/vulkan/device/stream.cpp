#include "plugins/vulkan/device/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/vk_stream.h"

namespace epiphyte::vulkan {
namespace {

// A point is a number of 64 bits. The lower kPointBits bits count the points since a submission, the upper bits are the
// number of that submission.
constexpr int kPointBits = 20;
constexpr uint64_t kPointsOfSubmission = uint64_t{1} << kPointBits;

uint64_t SubmissionOf(uint64_t point) { return point >> kPointBits; }

void CheckPoint(const StreamParts& parts, uint64_t point) {
  if (point > parts.last_point)
    kit::FailArgument("point ", point, " of a stream whose last one is ", parts.last_point, "; Signal gives points");
}

}  // namespace

void StreamParts::Fail(const kit::Error& error) {
  if (failure) return;
  failure = error;
  device.WaitIdle();
  host_copies.clear();
  completions.clear();
}

void StreamParts::ThrowIfFailed() {
  try {
    device.ThrowIfLost();
  } catch (const kit::Error& lost) {
    Fail(lost);
  }
  if (failure) throw *failure;
}

uint64_t StreamParts::Advance() {
  const uint64_t reached = timeline->Reached();
  for (; !host_copies.empty() && host_copies.front().after <= reached; host_copies.pop_front()) {
    const HostCopy& copy = host_copies.front();
    std::memcpy(copy.to, copy.from, copy.size);
  }
  for (; !completions.empty() && completions.front().after <= reached; completions.pop_front())
    completions.front().done();
  return reached;
}

bool StreamParts::IsIdle() {
  if (Advance() < timeline->submitted() || !host_copies.empty()) return false;
  std::erase_if(awaited, [](const Awaited& each) { return each.timeline->Reached() >= each.number; });
  return awaited.empty();
}

void StreamParts::Await(Lock& lock, uint64_t number) {
  lock.unlock();
  try {
    timeline->Wait(number, UINT64_MAX);
  } catch (const kit::Error& error) {
    lock.lock();
    Fail(error);
    throw;
  }
  lock.lock();
  ThrowIfFailed();  // the stream may have failed meanwhile
  Advance();
}

void StreamParts::FinishInPlaceCopies(Lock& lock) {
  for (size_t i = host_copies.size(); i-- > 0;)
    if (host_copies[i].in_place) return Await(lock, host_copies[i].after);
}

StreamParts::Commands& StreamParts::BeginCommands() {
  const uint64_t reached = Advance();
  auto free = std::ranges::find_if(commands, [&](const auto& each) { return each->until <= reached; });
  if (free == commands.end()) {
    auto made = std::make_unique<Commands>();
    made->pool = MakeCommandPool(device);
    made->buffer = MakeCommandBuffers(device, made->pool.get(), 1)[0];
    commands.push_back(std::move(made));
    free = std::prev(commands.end());
  }
  Commands& taken = **free;
  device.Check(device.vk.vkResetCommandPool(device.device, taken.pool.get(), 0), "vkResetCommandPool");
  vulkan::BeginCommands(device, taken.buffer, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  RecordBarrier(device, taken.buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  return taken;
}

Stream::Stream(std::shared_ptr<Device> device)
    : device_(std::move(device)), parts_(std::make_unique<StreamParts>(device_->handles())) {
  device_->handles().ThrowIfLost();
  Enlist();
}

Stream::Stream(DeviceHandles& device) : parts_(std::make_unique<StreamParts>(device)) { Enlist(); }

void Stream::Enlist() {
  const std::lock_guard lock(parts_->device.streams_mutex);
  parts_->device.streams.insert(this);
}

Stream::~Stream() {
  {
    const std::lock_guard lock(parts_->device.streams_mutex);
    parts_->device.streams.erase(this);
  }
  // Staging memory and commands are freed before the timeline, so the device must be done with them.
  parts_->timeline->Finish(parts_->timeline->submitted());
}

uint64_t Stream::Submit(VkCommandBuffer_T* commands) {
  return parts_->Guarded([&](StreamParts& parts, StreamParts::Lock& lock) {
    parts.FinishInPlaceCopies(lock);
    const VkCommandBuffer buffer = commands;
    return parts.timeline->Submit({&buffer, 1});
  });
}

void Stream::Await(uint64_t submission) {
  parts_->Guarded([&](StreamParts& parts, StreamParts::Lock& lock) { parts.Await(lock, submission); });
}

void Stream::Then(std::function<void()> done) {
  parts_->Guarded([&](StreamParts& parts, StreamParts::Lock&) {
    parts.completions.push_back({parts.timeline->submitted(), std::move(done)});
  });
}

uint64_t Stream::Signal() {
  return parts_->Guarded([&](StreamParts& parts, StreamParts::Lock& lock) {
    if (parts.last_point % kPointsOfSubmission == kPointsOfSubmission - 1 &&
        SubmissionOf(parts.last_point) == parts.timeline->submitted()) {
      parts.FinishInPlaceCopies(lock);
      parts.timeline->Submit({});
    }
    const uint64_t first = parts.timeline->submitted() << kPointBits;
    parts.last_point = std::max(first, parts.last_point) + 1;
    return parts.last_point;
  });
}

void Stream::WaitFor(Stream& other, uint64_t point) {
  if (&other == this) return;
  parts_->Guarded([](StreamParts&, StreamParts::Lock&) {});
  StreamParts& theirs = *other.parts_;
  const uint64_t submission = SubmissionOf(point);
  bool waits_here = &theirs.device != &parts_->device;
  {
    const StreamParts::Lock lock(theirs.mutex);
    if (!theirs.failure) CheckPoint(theirs, point);
    waits_here =
        waits_here || theirs.failure || (!theirs.host_copies.empty() && theirs.host_copies.front().after <= submission);
  }
  try {
    if (waits_here) return other.Synchronize(point);
  } catch (const kit::Error& error) {
    const StreamParts::Lock lock(parts_->mutex);
    parts_->Fail(error);
    throw;
  }
  parts_->Guarded([&](StreamParts& parts, StreamParts::Lock&) {
    std::erase_if(parts.awaited, [](const auto& each) { return each.timeline->Reached() >= each.number; });
    if (theirs.timeline->Reached() < submission) parts.awaited.push_back({theirs.timeline, submission});
  });
}

void Stream::Synchronize(uint64_t point, uint64_t timeout_ns) {
  StreamParts& parts = *parts_;
  StreamParts::Lock lock(parts.mutex);
  parts.ThrowIfFailed();
  CheckPoint(parts, point);
  lock.unlock();
  bool reached = false;
  try {
    reached = parts.timeline->Wait(SubmissionOf(point), timeout_ns);
  } catch (const kit::Error& error) {
    lock.lock();
    parts.Fail(error);
    throw;
  }
  if (!reached) kit::FailWith(EP_STATUS_TIMEOUT, "the point was not reached in ", timeout_ns, " ns");
  lock.lock();
  parts.ThrowIfFailed();  // the stream may have failed meanwhile
  parts.Advance();
  lock.unlock();
  const Validation& validation = parts.device.instance->validation();
  if (validation.gpu_assisted) parts.device.WaitIdle();  // newer layers report the findings of their checks only then
  if (validation.Any()) parts.device.instance->ThrowIfInvalid();
}

void Stream::Trim() {
  StreamParts& parts = *parts_;
  const StreamParts::Lock lock(parts.mutex);
  if (parts.failure || parts.device.lost.load()) return;
  const uint64_t reached = parts.Advance();
  std::erase_if(parts.chunks, [&](const auto& chunk) { return chunk->until <= reached; });
}

}  // namespace epiphyte::vulkan
