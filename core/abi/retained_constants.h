// Retained constants: constant data that plugins keep beyond the call that showed it to them, instead of copying it.
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
// values are added.
class ShownConstants {
 public:
  // Graph and node must outlive this object and must not change in the meantime.
  void Add(const Graph& graph) { graphs_.push_back(&graph); }
  void Add(const Node& node) { nodes_.push_back(&node); }
  ConstantPtr Find(const EpValueDef* value);
  // Notes that the plugin no longer reads this value's data. A constant that all its values have dropped drops its
  // data. Returns false when Find would find none. Thread-safe as Find is.
  bool Drop(const EpValueDef* value);

 private:
  using Constants = std::unordered_map<const void*, ConstantPtr>;  // key: handle
  const Constants& MakeConstants();                                // call with the mutex held
  static void Show(const Graph& graph, Constants* to);
  static void Show(const Node& node, Constants* to);
  static void Show(const ValueDef* value, Constants* to);

  std::vector<const Graph*> graphs_;
  std::vector<const Node*> nodes_;
  std::mutex mutex_;
  std::optional<Constants> constants_;                   // made at the first query: most plugins make none
  std::unordered_map<const Constant*, size_t> readers_;  // number of values that haven't dropped the constant
  std::unordered_set<const void*> dropped_;              // handles of dropped values
};

// All references of the process, in one table that lives as long as it. Thread-safe.
class RetainedConstants {
 public:
  static RetainedConstants& All();

  // `owner`: key for ReleaseAll. No handle is given out twice.
  EpConstant* Add(const void* owner, ConstantPtr constant);
  // Returns false when there is no such reference (any more).
  bool Release(const EpConstant* handle);
  // Releases the remaining references of the owner.
  void ReleaseAll(const void* owner);
  size_t size();

 private:
  struct Reference {
    const void* owner;
    ConstantPtr constant;
  };
  std::mutex mutex_;
  std::unordered_map<uintptr_t, Reference> references_;
  uintptr_t next_ = 1;  // always odd, because no object's address is
};

}  // namespace epiphyte::core
