// Parts of a plan: steps in order, and the slots of their values in a run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/abi/provider.h"
#include "core/device/devices.h"
#include "core/graph/graph.h"
#include "core/graph/value.h"
#include "core/runtime/control_flow.h"
#include "core/runtime/profiler.h"

namespace epiphyte::core {

inline constexpr uint32_t kNoSlot = UINT32_MAX;  // slot number of an absent value

struct PlanStep {
  std::shared_ptr<Kernel> kernel;             // null if control_flow is set
  std::unique_ptr<ControlFlow> control_flow;  // null if kernel is set
  std::string name;
  uint32_t first_input = 0;  // index into PlanTables::slots
  uint32_t input_count = 0;
  uint32_t first_output = 0;
  uint32_t output_count = 0;
  uint32_t first_release = 0;  // first of the slots that this step uses last
  uint32_t release_count = 0;

  bool on_device() const { return kernel != nullptr && kernel->places().on_device(); }
};

struct PlanTables {
  std::span<const uint32_t> InputsOf(const PlanStep& step) const {
    return {slots.data() + step.first_input, step.input_count};
  }
  std::span<const uint32_t> OutputsOf(const PlanStep& step) const {
    return {slots.data() + step.first_output, step.output_count};
  }
  std::span<const uint32_t> ReleasesOf(const PlanStep& step) const {
    return {slots.data() + step.first_release, step.release_count};
  }

  std::vector<PlanStep> steps;
  std::vector<uint32_t> slots;  // slots of the steps' values
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outer;
  std::vector<uint32_t> outputs;
  std::vector<std::string> output_names;
  std::vector<std::pair<uint32_t, ValuePtr>> constants;
  uint32_t slot_count = 0;
  uint32_t widest_input = 0;
  uint32_t widest_output = 0;
};

}  // namespace epiphyte::core
