// Where the values of a graph live, for devices that are given their memory before the first run: one arena, in which
// values that are never needed at the same time share places.
//
//   kit::StaticPlanOptions options;
//   options.alignment = 256;
//   options.in_place = [](const kit::ir::Node& node, size_t input, size_t) { return node.Is("Relu") && input == 0; };
//   options.alias = [](const kit::ir::Node& node, size_t input, size_t) { return node.Is("Reshape") && input == 0; };
//   const kit::StaticPlan plan = kit::PlanMemory(graph, options);
//   Allocate(plan.arena_bytes);
//   for (int32_t value = 0; …) Bind(value, plan.values[value].offset);
//
// Time is the order of the nodes. All shapes must be known; where they aren't, a runtime learns its plan from a run and
// places what it saw with PlaceIntervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit {

struct StaticPlanOptions {
  uint64_t alignment = 64;  // of offsets; a power of two
  // Bytes of a value. Empty: its elements, row-major. For devices with layouts of their own. A value that takes more in
  // one layout than in another says its most.
  std::function<uint64_t(const ir::Graph& graph, int32_t value)> bytes;
  // Whether a node may write an output over an input: it reads each element of that before it writes there. Asked only
  // where nobody needs the input afterwards. Empty: never.
  std::function<bool(const ir::Node& node, size_t input, size_t output)> in_place;
  // Whether an output is an input's bytes under other dimensions, so that the node has nothing to do when both lie in
  // one place. Empty: never.
  std::function<bool(const ir::Node& node, size_t input, size_t output)> alias;
  // Whether the graph's inputs and outputs live in the arena, for the whole run, or in memory of the host's. Constants
  // never do.
  bool place_inputs = false;
  bool place_outputs = false;
};

struct StaticPlan {
  enum class Origin : uint8_t {
    kNone,     // not in the arena: a constant, memory of the host's, or nothing makes it
    kFresh,    // memory of its own
    kInPlace,  // in the memory of value `source`, which nobody needs any more
    kAlias,    // the memory of value `source`
  };
  struct Place {
    Origin origin = Origin::kNone;
    int32_t source = -1;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  std::vector<Place> values;  // by value of the graph
  uint64_t arena_bytes = 0;
};

// The graph is one that ir::Check lets through. A node that reads values through a subgraph must list them among its
// inputs. Throws Error(EP_STATUS_INVALID_ARGUMENT) for a value in the arena that has no size before the run.
StaticPlan PlanMemory(const ir::Graph& graph, const StaticPlanOptions& options = {});

}  // namespace epiphyte::kit
