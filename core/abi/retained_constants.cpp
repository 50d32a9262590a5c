#include "core/abi/retained_constants.h"

#include <utility>

namespace epiphyte::core {

void ShownConstants::Show(const ValueDef* value) {
  if (value == nullptr) return;
  if (const ConstantPtr& constant = value->ResolvedConstant()) by_handle_.emplace(value, constant);
}

void ShownConstants::Show(const Node& node) {
  for (const ValueDef* input : node.inputs()) Show(input);
  for (const Graph* body : node.subgraphs()) Show(*body);
}

void ShownConstants::Show(const Graph& graph) {
  for (const auto& value : graph.values()) Show(value.get());
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    for (const Graph* body : node->subgraphs()) Show(*body);
  }
}

ConstantPtr ShownConstants::Find(const EpValueDef* value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(is_known_, true)) {
    for (const Graph* graph : graphs_) Show(*graph);
    for (const Node* node : nodes_) Show(*node);
  }
  const auto found = by_handle_.find(value);
  return found == by_handle_.end() ? nullptr : found->second;
}

// Leaked: a plugin's threads may release until the process ends.
RetainedConstants& RetainedConstants::All() {
  static RetainedConstants* const all = new RetainedConstants;
  return *all;
}

EpConstant* RetainedConstants::Add(const void* owner, ConstantPtr constant) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uintptr_t number = next_;
  next_ += 2;
  by_owner_[owner].insert(number);
  references_.emplace(number, Reference{owner, std::move(constant)});
  return reinterpret_cast<EpConstant*>(number);
}

bool RetainedConstants::Release(const EpConstant* handle) {
  ConstantPtr last;  // freed when the lock is gone
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = references_.find(reinterpret_cast<uintptr_t>(handle));
  if (found == references_.end()) return false;
  last = std::move(found->second.constant);
  const auto owner = by_owner_.find(found->second.owner);
  owner->second.erase(found->first);
  if (owner->second.empty()) by_owner_.erase(owner);
  references_.erase(found);
  return true;
}

void RetainedConstants::ReleaseAll(const void* owner) {
  std::vector<ConstantPtr> last;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return;
  for (const uintptr_t number : found->second) {
    const auto reference = references_.find(number);
    last.push_back(std::move(reference->second.constant));
    references_.erase(reference);
  }
  by_owner_.erase(found);
}

size_t RetainedConstants::size() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return references_.size();
}

}  // namespace epiphyte::core
