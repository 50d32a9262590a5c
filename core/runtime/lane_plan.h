// Lane plan: which steps of a plan go to which device, and where the values between them are best made.
//
// A lane is a device on which kernels of the plan run. Each run has one stream for it, so what is submitted to a lane
// is done in order; lanes wait for each other only where values pass between them.
//
// A value's place is decided here, once: device memory when every consumer on that device takes it there, host memory
// when producer and consumers share that, else where the fewest copies are left. What an application binds comes first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/spare.h"
#include "core/device/device_stream.h"
#include "core/device/devices.h"
#include "core/runtime/lane_frame.h"
#include "core/runtime/plan_steps.h"

namespace epiphyte::core {

inline constexpr uint32_t kHostLane = UINT32_MAX;  // a step that runs on the host

// A memory of a lane's device, or the host's.
struct Place {
  static constexpr uint32_t kHost = UINT32_MAX;
  uint32_t memory = kHost;

  bool on_host() const { return memory == kHost; }
  // Whether a kernel that named `set` can use it.
  bool In(uint32_t set) const { return (set & (on_host() ? EP_MEMORIES_HOST : EP_MEMORIES_HOST << (memory + 1))) != 0; }
};

class LanePlan {
 public:
  // `tables` outlives it. Throws EP_FAIL when a kernel is on a device that its plugin doesn't have.
  LanePlan(const PlanTables& tables, const PlanTools& tools);
  LanePlan(const LanePlan&) = delete;
  LanePlan& operator=(const LanePlan&) = delete;

  const PlanTables& tables() const { return tables_; }
  const PlanTools& tools() const { return tools_; }
  size_t lane_count() const { return lanes_.size(); }
  PluginDevice& device(uint32_t lane) const { return *lanes_[lane]->device; }
  uint32_t LaneOf(size_t step) const { return step_lanes_[step]; }
  // The lane of a device; kHostLane when no step runs there.
  uint32_t LaneOf(const LoadedPlugin& plugin, uint32_t device) const;
  // Where an output is best made: `slot_place` counts as PlanTables::slots does.
  Place PlaceOf(size_t slot_place) const { return places_[slot_place]; }
  // Where an input that is elsewhere is copied to, for a kernel that named `set`.
  Place BestOf(uint32_t lane, uint32_t set) const;
  // Whether a step from `step` on reads a slot, or it is an output, or a constant: frames keep those, and their copies,
  // for later runs.
  bool IsReadFrom(uint32_t slot, size_t step) const {
    return is_output_[slot] || is_constant_[slot] || (!readers_[slot].empty() && readers_[slot].back().step >= step);
  }
  bool IsOutput(uint32_t slot) const { return is_output_[slot]; }

  // Throws DEVICE_RESET when a device was lost in an earlier run.
  void RequireNoLoss() const;
  void NoteLoss(uint32_t lane) const { lanes_[lane]->lost.store(true, std::memory_order_release); }

  // With streams for all lanes. Throws what making a stream gives.
  std::unique_ptr<LaneFrame> TakeFrame() const;
  // Of a run that went well.
  void GiveFrame(std::unique_ptr<LaneFrame> frame) const;

 private:
  struct Lane {
    PluginDevice* device = nullptr;
    mutable std::atomic<bool> lost{false};
  };

  uint32_t AddLane(const PlanStep& step, Devices& devices);
  void CheckMemories(const PlanStep& step, uint32_t lane) const;
  void PlaceOutputs();
  Place ChoosePlace(const PlanStep& step, uint32_t lane, uint32_t output, uint32_t slot) const;

  const PlanTables& tables_;
  const PlanTools& tools_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<uint32_t> step_lanes_;
  std::vector<Place> places_;
  struct Reader {
    size_t step;
    size_t input;
  };
  std::vector<std::vector<Reader>> readers_;  // by slot
  std::vector<bool> is_output_;               // by slot
  std::vector<bool> is_constant_;             // by slot
  mutable Spares<LaneFrame> frames_;
};

}  // namespace epiphyte::core
