// GraphState: one graph while one transform works on it. The handles of epiphyte/transform.hpp refer to it by index, so
// that a stale handle is detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"
#include "core/transform/application_transforms.h"
#include "epiphyte/transform.hpp"

namespace epiphyte {

class GraphState : public std::enable_shared_from_this<GraphState> {
 public:
  // `graph` must live until Close.
  GraphState(core::Graph& graph, std::string transform);

  // Every handle throws after Close.
  void Close() { graph_ = nullptr; }
  GraphEditor Edit() { return GraphEditor(shared_from_this()); }

  // --- handles; a null pointer gives an empty handle
  GraphNode HandleOf(core::Node* node);
  GraphValue HandleOf(core::ValueDef* value);
  template <typename Item>
  auto HandlesOf(const std::vector<Item*>& items) {
    std::vector<decltype(HandleOf(items[0]))> handles;
    handles.reserve(items.size());
    for (Item* item : items) handles.push_back(HandleOf(item));
    return handles;
  }
  // The next five throw INVALID_ARGUMENT for a handle that is empty, stale or of another graph.
  core::Graph& graph() const;
  core::Node& NodeAt(size_t index) const;
  core::ValueDef& ValueAt(size_t index) const;
  core::Node& Resolve(const GraphNode& node) const;
  core::ValueDef& Resolve(const GraphValue& value) const;
  // Returns null for an empty handle.
  core::ValueDef* ResolveOptional(const GraphValue& value) const;
  bool SameNode(size_t a, size_t b) const { return nodes_[a] == nodes_[b]; }
  bool SameValue(size_t a, size_t b) const { return values_[a] == values_[b]; }

  // --- changes so far
  const std::string& transform() const { return transform_; }
  uint64_t edits() const { return edits_; }
  void Changed(const core::Node* node) { changed_.insert(node); }
  void CountEdit() { ++edits_; }
  void Added(core::Node* node);
  bool WasAdded(const core::Node* node) const { return added_.contains(node); }
  // Call before `node` or `value` is removed. Handles of `value` then refer to `successor`, if there is one.
  void Forget(core::Node* node);
  void Forget(core::ValueDef* value, core::ValueDef* successor = nullptr);
  // Call before a node or constant is added. Throws FAIL when the limit of additions is reached.
  void TakeRoom();
  core::GraphChanges TakeChanges();

 private:
  core::Graph* graph_;
  std::string transform_;
  size_t nodes_before_;
  size_t additions_ = 0;
  uint64_t edits_ = 0;
  std::vector<core::Node*> nodes_;
  std::vector<core::ValueDef*> values_;
  std::unordered_map<const core::Node*, size_t> node_index_;
  std::unordered_map<const core::ValueDef*, std::vector<size_t>>
      value_index_;  // a value has several handles after a replacement
  std::unordered_set<const core::Node*> added_;
  std::unordered_set<const core::Node*> changed_;
};

}  // namespace epiphyte
