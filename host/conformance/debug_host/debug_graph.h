// DebugGraph: a graph as a plugin sees it. Its names, infos, arrays, shapes and constants are in memory that is
// read-only while the graph lives and is unmapped with it. A plugin that keeps a pointer faults when it uses it.
//
//   DebugGraph graph(spec, Rule::kGraphEndsWithTheCall);
//   provider->GetCapability(provider, graph.handle(), sink);
//   graph.End();
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_graph.h"
#include "host/conformance/graphs/graph_spec.h"
#include "host/conformance/memory/lent_memory.h"

namespace epiphyte::conformance {

// Memory that is filled once and then lent: structs, arrays and strings, stored one after the other.
class Arena {
 public:
  Arena(size_t room, LentMemory::Rules rules) : memory_(room, std::move(rules)) {}

  template <typename T>
  T* New(size_t count = 1) {
    return static_cast<T*>(Take(count * sizeof(T), alignof(T)));
  }
  template <typename T>
  const T* Copy(std::span<const T> items) {
    T* copy = New<T>(items.size());
    for (size_t i = 0; i < items.size(); ++i) copy[i] = items[i];
    return copy;
  }
  const char* Copy(std::string_view text);
  void Lend() { memory_.MakeReadOnly(); }
  void TakeAway() { memory_.TakeAway(); }

 private:
  void* Take(size_t size, size_t alignment);
  LentMemory memory_;
  size_t used_ = 0;
};

class DebugGraph {
 public:
  // `ended` is the rule that is broken by a use of the graph after End.
  DebugGraph(const GraphSpec& spec, Rule ended);
  ~DebugGraph() { End(); }
  DebugGraph(const DebugGraph&) = delete;
  DebugGraph& operator=(const DebugGraph&) = delete;

  const EpGraph* handle() const { return reinterpret_cast<const EpGraph*>(graph_); }
  const GraphSpec& spec() const { return spec_; }
  const EpNode* node(size_t index) const { return reinterpret_cast<const EpNode*>(&nodes_[index]); }
  const EpValueDef* value(size_t index) const { return reinterpret_cast<const EpValueDef*>(&values_[index]); }
  // Returns -1 when the handle does not belong to this graph.
  int IndexOf(const EpNode* handle) const;
  int IndexOf(const EpValueDef* handle) const;

  // Returns the graph of a handle that a plugin passes. Returns null, and records a violation, if it must not use the
  // handle.
  static const DebugGraph* Of(const EpGraph* handle, const char* function);
  // Hides everything but this node, its attributes, inputs and outputs. A request for anything else breaks `hidden`.
  void ShowOnly(size_t node, Rule hidden);

  // Keeps the data and the view of a constant beyond End, until Release was called as often as Retain.
  void Retain(int value);
  void Release(int value);
  // Takes away the data of a constant, unless it is retained.
  void Drop(int value);
  void End();

 private:
  struct Constant {
    std::unique_ptr<Arena> view;  // the EpTensorView and its dims
    std::unique_ptr<LentMemory> data;
    int references = 0;
  };
  void Fill();
  const EpTypeInfo* TypeOf(const ValueSpec& value);
  const EpAttribute* AttributeOf(const AttributeSpec& attribute);
  template <typename Handle, typename Pick>
  const Handle* const* HandlesOf(const std::vector<int>& indices, Pick pick);

  const GraphSpec spec_;
  const Rule ended_;
  Arena arena_;
  std::vector<Constant> constants_;  // indexed by value
  EpGraphInfo* graph_ = nullptr;
  EpNodeInfo* nodes_ = nullptr;
  EpValueDefInfo* values_ = nullptr;
  bool open_ = true;
};

}  // namespace epiphyte::conformance
