// The search chooses the tiling of each layer, and the tensors that stay in the scratchpad from the layer that writes
// them to the last one that reads them. The cost of a choice is that of its commands in the device's own model.
//
//   Plan plan = MakePlan(lowered, config, effort, fusion, tick);
//   plan.layers[i].tiling; plan.placements[storage];
#pragma once

#include <functional>
#include <vector>

#include "plugins/npu/simulator/compiler/effort.h"
#include "plugins/npu/simulator/compiler/lower.h"

namespace epiphyte::npusim {

struct LayerPlan {
  Tiling tiling{};
  Arena arena;
  bool downward = false;
};

struct Plan {
  std::vector<LayerPlan> layers;
  std::vector<Placement> placements;  // by storage
  uint64_t scratch_size = 0;
};

// `tick` is called often with the done part of the search, 0 to 1; it throws to stop. With `residency`, tensors may
// stay in the scratchpad. Throws Unsupported if no tiling of a layer fits into the scratchpad.
Plan MakePlan(const Lowered& lowered, const Config& config, Effort effort, bool residency,
              const std::function<void(double done)>& tick);

// Commands of all layers, with tokens. `weights` receives the constants that depend on tilings; it may be null.
std::vector<Command> EmitPlan(const Lowered& lowered, const Plan& plan, const Config& config, WeightStore* weights,
                              const std::function<void()>& tick);

// Checks that some tiling of each layer fits, with no tensor kept in the scratchpad. Throws Unsupported.
void CheckFits(const Lowered& lowered, const Config& config);

}  // namespace epiphyte::npusim
