// The search: how each layer is cut into tiles, and which tensors stay in the scratchpad from the layer that writes
// them to the last one that reads them. What a choice costs is what the device's own model says of the commands it
// makes.
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

// tick is called often, with the part of the search that is done, 0 to 1; it throws to stop. residency: tensors may
// stay in the scratchpad. Throws Unsupported where a layer doesn't fit in the scratchpad however it is cut.
Plan MakePlan(const Lowered& lowered, const Config& config, Effort effort, bool residency,
              const std::function<void(double done)>& tick);

// Commands of all layers, with tokens. weights: takes constants that depend on tilings; may be null.
std::vector<Command> EmitPlan(const Lowered& lowered, const Plan& plan, const Config& config, WeightStore* weights,
                              const std::function<void()>& tick);

// Whether some tiling of each layer fits, with nothing kept in the scratchpad. Throws Unsupported.
void CheckFits(const Lowered& lowered, const Config& config);

}  // namespace epiphyte::npusim
