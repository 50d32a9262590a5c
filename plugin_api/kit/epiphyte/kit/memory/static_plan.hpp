// StaticPlan: memory plan of a graph for devices that get their memory before the first run. All values live in one
// arena, and values that are never alive at the same time share memory.
//
//   kit::StaticPlanOptions options;
//   options.alignment = 256;
//   options.in_place = [](const kit::ir::Node& node, size_t input, size_t) { return node.Is("Relu") && input == 0; };
//   options.alias = [](const kit::ir::Node& node, size_t input, size_t) { return node.Is("Reshape") && input == 0; };
//   const kit::StaticPlan plan = kit::PlanMemory(graph, options);
//   Allocate(plan.arena_bytes);
//   for (int32_t value = 0; …) Bind(value, plan.values[value].offset);
//
// Steps are nodes in order. All shapes must be known. Otherwise a runtime records the sizes of a run and places them
// with PlaceIntervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit {

struct StaticPlanOptions {
  uint64_t alignment = 64;  // alignment of offsets; a power of two
  // Size of a value in bytes, for devices with layouts of their own. If the size depends on the layout, return the
  // largest. Empty: the elements, row-major.
  std::function<uint64_t(const ir::Graph& graph, int32_t value)> bytes;
  // Returns whether a node may compute an output in-place of an input: it must read each element of the input before it
  // writes there. Called only when the input is not needed afterwards. Empty: never.
  std::function<bool(const ir::Node& node, size_t input, size_t output)> in_place;
  // Returns whether an output has the bytes of an input under other dimensions. The node then does nothing, because
  // both share one place. Empty: never.
  std::function<bool(const ir::Node& node, size_t input, size_t output)> alias;
  // Whether the graph's inputs and outputs live in the arena for the whole run. Otherwise they are in memory of the
  // host. Constants are never in the arena.
  bool place_inputs = false;
  bool place_outputs = false;
};

struct StaticPlan {
  enum class Origin : uint8_t {
    kNone,     // not in the arena: a constant, memory of the host, or a value without a producer
    kFresh,    // memory of its own
    kInPlace,  // in-place: the memory of value `source`, which is not needed any more
    kAlias,    // the memory of value `source`
  };
  struct Place {
    Origin origin = Origin::kNone;
    int32_t source = -1;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  std::vector<Place> values;  // one for each value of the graph
  uint64_t arena_bytes = 0;
};

// `graph` must have passed ir::Check. A node that reads values in a subgraph must list them among its inputs. Throws
// Error(EP_STATUS_INVALID_ARGUMENT) for a value in the arena with a size that is not known before the run.
StaticPlan PlanMemory(const ir::Graph& graph, const StaticPlanOptions& options = {});

}  // namespace epiphyte::kit
