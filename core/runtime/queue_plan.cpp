#include "core/runtime/queue_plan.h"

#include <algorithm>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxQueues = 64;  // TrackedValue::used_by has one bit for each

}  // namespace

QueuePlan::QueuePlan(const PlanTables& tables, const PlanTools& tools) : tables_(tables), tools_(tools) {
  readers_.resize(tables.slot_count);
  is_output_.resize(tables.slot_count, false);
  is_constant_.resize(tables.slot_count, false);
  for (const uint32_t slot : tables.outputs) is_output_[slot] = true;
  for (const auto& [slot, value] : tables.constants) is_constant_[slot] = true;
  for (size_t i = 0; i < tables.steps.size(); ++i) {
    const PlanStep& step = tables.steps[i];
    step_lanes_.push_back(step.on_device() ? AddQueue(step, *tools.devices) : kHostQueue);
    const auto inputs = tables.InputsOf(step);
    for (size_t input = 0; input < inputs.size(); ++input) {
      if (inputs[input] != kNoSlot) readers_[inputs[input]].push_back({i, input});
    }
  }
  places_.resize(tables.slots.size());
  PlaceOutputs();
}

uint32_t QueuePlan::QueueOf(const LoadedPlugin& plugin, uint32_t device) const {
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (&queues_[i]->device->plugin() == &plugin && queues_[i]->device->index() == device) {
      return static_cast<uint32_t>(i);
    }
  }
  return kHostQueue;
}

uint32_t QueuePlan::AddQueue(const PlanStep& step, Devices& devices) {
  const LoadedPlugin& plugin = step.kernel->provider().plugin();
  const uint32_t device = step.kernel->places().device;
  uint32_t queue = QueueOf(plugin, device);
  if (queue == kHostQueue) {
    PluginDevice* found = devices.Find(plugin, device);
    if (found == nullptr) {
      Fail(StatusCode::kEpFail,
           "provider '{}', partition '{}': DescribeKernel says that it works on a device, but the plugin has no '{}'",
           plugin.name, step.name, EP_DEVICE_EXTENSION);
    }
    if (queues_.size() == kMaxQueues) {
      Fail(StatusCode::kNotImplemented, "the session would use more than {} devices; list fewer", kMaxQueues);
    }
    queue = static_cast<uint32_t>(queues_.size());
    queues_.push_back(std::make_unique<DeviceQueue>());
    queues_.back()->device = found;
  }
  CheckMemories(step, queue);
  return queue;
}

void QueuePlan::CheckMemories(const PlanStep& step, uint32_t queue) const {
  const size_t count = device(queue).memories().size();
  const KernelPlaces& places = step.kernel->places();
  for (const std::vector<uint32_t>* sets : {&places.inputs, &places.outputs}) {
    for (const uint32_t set : *sets) {
      if ((uint64_t{set} >> (count + 1)) == 0) continue;
      Fail(StatusCode::kEpFail,
           "provider '{}', partition '{}': DescribeKernel names memories ({:#x}) that device '{}', which has {}, "
           "doesn't "
           "have",
           step.kernel->provider().name(), step.name, set, device(queue).name(), count);
    }
  }
}

Place QueuePlan::BestOf(uint32_t queue, uint32_t set) const {
  const auto& memories = device(queue).memories();
  Place best;
  for (const auto& memory : memories) {
    const Place place{memory->number()};
    if (!place.In(set)) continue;
    if (memory->local()) return place;
    if (best.on_host()) best = place;
  }
  return best;
}

void QueuePlan::PlaceOutputs() {
  for (size_t i = 0; i < tables_.steps.size(); ++i) {
    if (step_lanes_[i] == kHostQueue) continue;
    const PlanStep& step = tables_.steps[i];
    for (uint32_t output = 0; output < step.output_count; ++output) {
      const size_t at = step.first_output + output;
      places_[at] = ChoosePlace(step, step_lanes_[i], output, tables_.slots[at]);
    }
  }
}

// Chooses the place with the fewest copies. Among equals the order is: local device memory, other device memory, host
// memory. Host memory comes first when no step on the device reads the value.
Place QueuePlan::ChoosePlace(const PlanStep& step, uint32_t queue, uint32_t output, uint32_t slot) const {
  const uint32_t set = step.kernel->places().OfOutput(output);
  const auto copies = [&](Place place) {
    if (slot == kNoSlot) return size_t{0};
    bool to_host = is_output_[slot];
    std::vector<uint32_t> to_queues;
    for (const Reader& reader : readers_[slot]) {
      const uint32_t reading = step_lanes_[reader.step];
      if (reading == kHostQueue) {
        to_host = true;
        continue;
      }
      const uint32_t takes = tables_.steps[reader.step].kernel->places().OfInput(reader.input);
      const bool there = place.on_host() ? place.In(takes) : reading == queue && place.In(takes);
      if (there) continue;
      if (takes == EP_MEMORIES_HOST) {
        to_host = true;
      } else if (std::find(to_queues.begin(), to_queues.end(), reading) == to_queues.end()) {
        to_queues.push_back(reading);
      }
    }
    return to_queues.size() + (to_host && !place.on_host() ? 1 : 0);
  };
  const bool read_here = slot != kNoSlot && std::any_of(readers_[slot].begin(), readers_[slot].end(),
                                                        [&](const auto& r) { return step_lanes_[r.step] == queue; });
  std::vector<Place> candidates;
  if (Place{}.In(set) && !read_here) candidates.push_back({});
  const auto& memories = device(queue).memories();
  for (const bool local : {true, false}) {
    for (const auto& memory : memories) {
      if (memory->local() == local && Place{memory->number()}.In(set)) candidates.push_back({memory->number()});
    }
  }
  if (Place{}.In(set) && read_here) candidates.push_back({});
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](Place a, Place b) { return copies(a) < copies(b); });
}

void QueuePlan::RequireNoLoss() const {
  for (const auto& queue : queues_) {
    if (!queue->lost.load(std::memory_order_acquire)) continue;
    Fail(StatusCode::kDeviceReset,
         "device '{}' of provider '{}' was lost in an earlier run; make a new session, which can use it if it has come "
         "back",
         queue->device->name(), queue->device->plugin().name);
  }
}

std::unique_ptr<QueueFrame> QueuePlan::TakeFrame() const {
  RequireNoLoss();
  if (std::unique_ptr<QueueFrame> frame = frames_.Acquire()) return frame;
  auto frame = std::make_unique<QueueFrame>();
  frame->slots.resize(tables_.slot_count);
  frame->arguments.resize(tables_.widest_input);
  frame->results.resize(tables_.widest_output);
  frame->queues.resize(queues_.size());
  for (size_t i = 0; i < queues_.size(); ++i) {
    try {
      frame->queues[i].stream = std::make_unique<DeviceStream>(*queues_[i]->device);
    } catch (const Error& error) {
      if (error.code() == StatusCode::kDeviceReset) NoteLoss(static_cast<uint32_t>(i));
      throw;
    }
    frame->queues[i].waited_for.resize(queues_.size());
  }
  for (const auto& [slot, value] : tables_.constants) frame->slots[slot].value = value;
  return frame;
}

void QueuePlan::GiveFrame(std::unique_ptr<QueueFrame> frame) const { frames_.Release(std::move(frame)); }

}  // namespace epiphyte::core
