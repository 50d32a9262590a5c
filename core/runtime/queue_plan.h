// QueuePlan: the device of each step of a plan, and the best places for the values between steps.
//
// A queue is a device that kernels of the plan run on. Each run has one stream for it, so work submitted to a queue is
// done in order. Queues wait for each other only if values pass between them.
//
// A value's place is decided here, once. It is device memory when every consumer on that device accepts it there, and
// host memory when producer and consumers share that. Otherwise it is the place with the fewest copies. An
// application's binding takes precedence.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/object_pool.h"
#include "core/device/device_stream.h"
#include "core/device/devices.h"
#include "core/runtime/plan_steps.h"
#include "core/runtime/queue_frame.h"

namespace epiphyte::core {

inline constexpr uint32_t kHostQueue = UINT32_MAX;  // queue of a step that runs on the host

// A memory of a queue's device, or the host's.
struct Place {
  static constexpr uint32_t kHost = UINT32_MAX;
  uint32_t memory = kHost;

  bool on_host() const { return memory == kHost; }
  // Whether a kernel that named `set` can use this memory.
  bool In(uint32_t set) const { return (set & (on_host() ? EP_MEMORIES_HOST : EP_MEMORIES_HOST << (memory + 1))) != 0; }
};

class QueuePlan {
 public:
  // `tables` must outlive it. Throws EP_FAIL when a kernel is on a device that its plugin doesn't have.
  QueuePlan(const PlanTables& tables, const PlanTools& tools);
  QueuePlan(const QueuePlan&) = delete;
  QueuePlan& operator=(const QueuePlan&) = delete;

  const PlanTables& tables() const { return tables_; }
  const PlanTools& tools() const { return tools_; }
  size_t queue_count() const { return queues_.size(); }
  PluginDevice& device(uint32_t queue) const { return *queues_[queue]->device; }
  uint32_t QueueOf(size_t step) const { return step_lanes_[step]; }
  // The queue of a device; kHostQueue when no step runs there.
  uint32_t QueueOf(const LoadedPlugin& plugin, uint32_t device) const;
  // Best place of an output. `slot_place`: index into PlanTables::slots.
  Place PlaceOf(size_t slot_place) const { return places_[slot_place]; }
  // Place that an input is copied to, when it is elsewhere, for a kernel that named `set`.
  Place BestOf(uint32_t queue, uint32_t set) const;
  // Whether a slot is still needed: a step from `step` on reads it, or it is an output or a constant. Frames keep
  // constants, and their copies, for later runs.
  bool IsReadFrom(uint32_t slot, size_t step) const {
    return is_output_[slot] || is_constant_[slot] || (!readers_[slot].empty() && readers_[slot].back().step >= step);
  }
  bool IsOutput(uint32_t slot) const { return is_output_[slot]; }

  // Throws DEVICE_RESET when a device was lost in an earlier run.
  void RequireNoLoss() const;
  void NoteLoss(uint32_t queue) const { queues_[queue]->lost.store(true, std::memory_order_release); }

  // Returns a frame with streams for all queues. Throws the plugin's error of making a stream.
  std::unique_ptr<QueueFrame> TakeFrame() const;
  // Gives back the frame of a successful run.
  void GiveFrame(std::unique_ptr<QueueFrame> frame) const;

 private:
  struct DeviceQueue {
    PluginDevice* device = nullptr;
    mutable std::atomic<bool> lost{false};
  };

  uint32_t AddQueue(const PlanStep& step, Devices& devices);
  void CheckMemories(const PlanStep& step, uint32_t queue) const;
  void PlaceOutputs();
  Place ChoosePlace(const PlanStep& step, uint32_t queue, uint32_t output, uint32_t slot) const;

  const PlanTables& tables_;
  const PlanTools& tools_;
  std::vector<std::unique_ptr<DeviceQueue>> queues_;
  std::vector<uint32_t> step_lanes_;
  std::vector<Place> places_;
  struct Reader {
    size_t step;
    size_t input;
  };
  std::vector<std::vector<Reader>> readers_;  // indexed by slot
  std::vector<bool> is_output_;               // indexed by slot
  std::vector<bool> is_constant_;             // indexed by slot
  mutable ObjectPool<QueueFrame> frames_;
};

}  // namespace epiphyte::core
