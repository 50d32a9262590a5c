// Retained constants: data of constants that plugins keep beyond the call that showed it to them, instead of copying
// it.
//
//   ShownConstants shown;                           // what one Compile or LoadContext shows its plugin
//   shown.Add(*partition.graph);
//   ConstantPtr constant = shown.Find(value);       // null: none of them, or no constant
//   EpConstant* handle = RetainedConstants::All().Add(provider, constant);
//   …
//   RetainedConstants::All().ReleaseAll(provider);  // when the provider is gone
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/constant.h"
#include "core/graph/graph.h"
#include "epiphyte/ep_task.h"

namespace epiphyte::core {

// The values that a plugin may name. A handle is compared with them and never followed. Find is thread-safe once all
// are added.
class ShownConstants {
 public:
  // Both outlive this object, and don't change in the meantime.
  void Add(const Graph& graph) { graphs_.push_back(&graph); }
  void Add(const Node& node) { nodes_.push_back(&node); }
  ConstantPtr Find(const EpValueDef* value);
  // The plugin reads this value's data no more; a constant that all values have dropped drops its own. False when Find
  // would find none. Thread-safe as Find.
  bool Drop(const EpValueDef* value);

 private:
  using Constants = std::unordered_map<const void*, ConstantPtr>;  // by handle
  const Constants& MakeConstants();                                // under the mutex
  static void Show(const Graph& graph, Constants* to);
  static void Show(const Node& node, Constants* to);
  static void Show(const ValueDef* value, Constants* to);

  std::vector<const Graph*> graphs_;
  std::vector<const Node*> nodes_;
  std::mutex mutex_;
  std::optional<Constants> constants_;  // made at the first question: most plugins don't ask
  std::unordered_map<const Constant*, size_t> readers_;  // values that haven't dropped it
  std::unordered_set<const void*> dropped_;              // values, by handle
};

// The references of the whole process, in one table for its life. Thread-safe.
class RetainedConstants {
 public:
  static RetainedConstants& All();

  // `owner`: for ReleaseAll. No handle is given out twice.
  EpConstant* Add(const void* owner, ConstantPtr constant);
  // False when there is no such reference any more.
  bool Release(const EpConstant* handle);
  // What the owner has left.
  void ReleaseAll(const void* owner);
  size_t size();

 private:
  struct Reference {
    const void* owner;
    ConstantPtr constant;
  };
  std::mutex mutex_;
  std::unordered_map<uintptr_t, Reference> references_;
  uintptr_t next_ = 1;  // odd, as no address of an object is
};

}  // namespace epiphyte::core
