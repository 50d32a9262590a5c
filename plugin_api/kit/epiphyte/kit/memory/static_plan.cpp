#include "epiphyte/kit/memory/static_plan.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/memory/intervals.hpp"

namespace epiphyte::kit {
namespace {

class Planner {
 public:
  Planner(const ir::Graph& graph, const StaticPlanOptions& options)
      : graph_(graph),
        options_(options),
        end_(static_cast<int32_t>(graph.nodes.size())),
        last_use_(graph.values.size(), -1),
        outside_(graph.values.size(), false),
        storage_of_(graph.values.size(), -1) {
    plan_.values.resize(graph.values.size());
    for (const ir::Constant& constant : graph.constants) outside_[At(constant.value)] = true;
    for (int32_t n = 0; n < end_; ++n)
      for (const int32_t value : graph.nodes[static_cast<size_t>(n)].inputs)
        if (value >= 0) last_use_[At(value)] = n;
    // Outputs must exist when the run has ended.
    for (const int32_t value : graph.outputs) {
      last_use_[At(value)] = end_;
      if (!options.place_outputs) outside_[At(value)] = true;
    }
  }

  StaticPlan Plan() {
    for (const int32_t value : graph_.inputs) {
      if (!options_.place_inputs) outside_[At(value)] = true;
      // The host fills the inputs in any order before the first node runs, so their memory is in use from step 0 on.
      if (!outside_[At(value)] && storage_of_[At(value)] < 0) PlaceFresh(value, 0);
    }
    for (int32_t n = 0; n < end_; ++n) {
      const std::vector<int32_t>& outputs = graph_.nodes[static_cast<size_t>(n)].outputs;
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o] < 0 || outside_[At(outputs[o])]) continue;
        if (!PlaceOverInput(n, o)) PlaceFresh(outputs[o], n);
      }
    }
    plan_.arena_bytes = PlaceIntervals(storages_, options_.alignment);
    for (size_t value = 0; value < storage_of_.size(); ++value)
      if (storage_of_[value] >= 0) plan_.values[value].offset = storages_[At(storage_of_[value])].offset;
    return std::move(plan_);
  }

 private:
  static size_t At(int32_t index) { return static_cast<size_t>(index); }

  uint64_t BytesOf(int32_t value) const {
    if (options_.bytes) return options_.bytes(graph_, value);
    const ir::Value& info = graph_.values[At(value)];
    const auto fail = [&](const auto&... what) { FailArgument("value '", info.name, "' ", what..., " expected"); };
    if (info.kind != EP_KIND_TENSOR) fail("is no tensor; one");
    if (!info.IsStatic()) fail("has shape ", ShapeText(info.dims), "; dimensions that are known before the run");
    if (ElementBytes(info.type, 1) == 0) fail("is of type ", TypeName(info.type), "; elements of fixed size");
    uint64_t count = 0;
    if (!CountElements(info.dims, &count)) fail("has shape ", ShapeText(info.dims), "; at most 2^44 elements");
    return ElementBytes(info.type, count);
  }

  void PlaceFresh(int32_t value, int32_t first) {
    StaticPlan::Place& place = plan_.values[At(value)];
    place.origin = StaticPlan::Origin::kFresh;
    place.bytes = BytesOf(value);
    storage_of_[At(value)] = static_cast<int32_t>(storages_.size());
    storages_.push_back({place.bytes, first, std::max(first, last_use_[At(value)])});
  }

  // Returns false when the output needs memory of its own.
  bool PlaceOverInput(int32_t n, size_t output) {
    const ir::Node& node = graph_.nodes[At(n)];
    const int32_t value = node.outputs[output];
    const uint64_t bytes = BytesOf(value);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int32_t source = node.inputs[i];
      if (source < 0 || storage_of_[At(source)] < 0) continue;
      const int32_t storage = storage_of_[At(source)];
      MemoryInterval& memory = storages_[At(storage)];
      StaticPlan::Place& place = plan_.values[At(value)];
      if (options_.alias && bytes == plan_.values[At(source)].bytes && !IsOverwritten(node, storage) &&
          options_.alias(node, i, output)) {
        place.origin = StaticPlan::Origin::kAlias;
      } else if (options_.in_place && bytes <= memory.bytes && IsFree(n, i, storage) &&
                 options_.in_place(node, i, output)) {
        place.origin = StaticPlan::Origin::kInPlace;
      } else {
        continue;
      }
      place.source = source;
      place.bytes = bytes;
      storage_of_[At(value)] = storage;
      memory.last = std::max({memory.last, n, last_use_[At(value)]});
      return true;
    }
    return false;
  }

  // True when another output of the node overwrites this storage.
  bool IsOverwritten(const ir::Node& node, int32_t storage) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](int32_t value) {
      return value >= 0 && storage_of_[At(value)] == storage &&
             plan_.values[At(value)].origin == StaticPlan::Origin::kInPlace;
    });
  }
  // True when the storage is not needed after node `n`, the node itself reads it only as input `i`, and no output of
  // the node is in it yet.
  bool IsFree(int32_t n, size_t i, int32_t storage) const {
    if (storages_[At(storage)].last > n) return false;
    const ir::Node& node = graph_.nodes[At(n)];
    for (size_t j = 0; j < node.inputs.size(); ++j)
      if (j != i && node.inputs[j] >= 0 && storage_of_[At(node.inputs[j])] == storage) return false;
    return std::none_of(node.outputs.begin(), node.outputs.end(),
                        [&](int32_t value) { return value >= 0 && storage_of_[At(value)] == storage; });
  }

  const ir::Graph& graph_;
  const StaticPlanOptions& options_;
  const int32_t end_;
  std::vector<int32_t> last_use_;
  std::vector<bool> outside_;
  std::vector<int32_t> storage_of_;       // for each value; -1: none
  std::vector<MemoryInterval> storages_;  // one block in the arena each
  StaticPlan plan_;
};

}  // namespace

StaticPlan PlanMemory(const ir::Graph& graph, const StaticPlanOptions& options) {
  return Planner(graph, options).Plan();
}

}  // namespace epiphyte::kit
