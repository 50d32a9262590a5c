#include "core/abi/retained_constants.h"

#include <algorithm>
#include <utility>

namespace epiphyte::core {

void ShownConstants::Show(const ValueDef* value, Constants* to) {
  if (value == nullptr) return;
  if (const ConstantPtr& constant = value->ResolvedConstant()) to->emplace(value, constant);
}

void ShownConstants::Show(const Node& node, Constants* to) {
  for (const ValueDef* input : node.inputs()) Show(input, to);
  for (const Graph* body : node.subgraphs()) Show(*body, to);
}

void ShownConstants::Show(const Graph& graph, Constants* to) {
  for (const auto& value : graph.values()) Show(value.get(), to);
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    for (const Graph* body : node->subgraphs()) Show(*body, to);
  }
}

const ShownConstants::Constants& ShownConstants::MakeConstants() {
  if (!constants_) {
    Constants all;
    for (const Graph* graph : graphs_) Show(*graph, &all);
    for (const Node* node : nodes_) Show(*node, &all);
    for (const auto& [value, constant] : all) ++readers_[constant.get()];
    constants_ = std::move(all);
  }
  return *constants_;
}

ConstantPtr ShownConstants::Find(const EpValueDef* value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Constants& constants = MakeConstants();
  const auto found = constants.find(value);
  return found == constants.end() ? nullptr : found->second;
}

bool ShownConstants::Drop(const EpValueDef* value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Constants& constants = MakeConstants();
  const auto found = constants.find(value);
  if (found == constants.end()) return false;
  if (dropped_.insert(value).second && --readers_[found->second.get()] == 0) found->second->Drop();
  return true;
}

// The table is leaked because a plugin's threads may release until the process ends.
RetainedConstants& RetainedConstants::All() {
  static RetainedConstants* const all = new RetainedConstants;
  return *all;
}

EpConstant* RetainedConstants::Add(const void* owner, ConstantPtr constant) {
  static_cast<void>(constant->abi());  // from here on Drop keeps the data
  const std::lock_guard<std::mutex> lock(mutex_);
  const uintptr_t number = next_;
  references_.emplace(number, Reference{owner, std::move(constant)});
  next_ += 2;
  return reinterpret_cast<EpConstant*>(number);
}

bool RetainedConstants::Release(const EpConstant* handle) {
  decltype(references_)::node_type last;  // freed when the lock is gone
  const std::lock_guard<std::mutex> lock(mutex_);
  last = references_.extract(reinterpret_cast<uintptr_t>(handle));
  return !last.empty();
}

// Releases one reference at a time, which needs no extra memory. Freeing may run an application's code, so it happens
// without the lock.
void RetainedConstants::ReleaseAll(const void* owner) {
  decltype(references_)::node_type last;
  do {
    last = {};
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(references_.begin(), references_.end(),
                                    [&](const auto& reference) { return reference.second.owner == owner; });
    if (found != references_.end()) last = references_.extract(found);
  } while (!last.empty());
}

size_t RetainedConstants::size() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return references_.size();
}

}  // namespace epiphyte::core
