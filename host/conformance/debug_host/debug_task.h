// DebugTask: a plugin's requests to the host while it compiles, loads or saves.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_task.h"
#include "host/conformance/debug_host/debug_graph.h"

namespace epiphyte::conformance {

// Constants that a provider retains. The object lives as long as the provider.
class RetainedConstants {
 public:
  ~RetainedConstants();
  EpConstant* Add(std::shared_ptr<DebugGraph> graph, int value);
  // Returns false when the constant isn't retained.
  static bool Release(const EpConstant* constant);

 private:
  std::vector<const EpConstant*> held_;
};

class DebugTask {
 public:
  enum class Kind { kCompile, kLoad, kSave };
  DebugTask(Kind kind, std::vector<std::shared_ptr<DebugGraph>> graphs, RetainedConstants& constants);
  ~DebugTask();
  DebugTask(const DebugTask&) = delete;
  DebugTask& operator=(const DebugTask&) = delete;

  EpTask* handle() const { return handle_; }
  // Returns null, and records a violation, when the plugin may use no task now.
  static DebugTask* Find(const EpTask* task, const char* function);
  // Null: the session isn't profiled.
  void ProfileWith(EpProfile* profile) { profile_ = profile; }
  EpProfile* profile() const { return profile_; }
  // From the next report on, the plugin is told that the user has cancelled.
  void Cancel() { cancel_ = true; }
  bool was_told() const { return told_; }
  const std::set<uint64_t>& declined() const { return declined_; }

  uint32_t Report(uint64_t done, uint64_t total, const char* text);
  uint32_t IsCancelled();
  EpStatus* Listen(EpCancelListener listener, void* user);
  EpStatus* Decline(uint64_t index, const char* reason);
  EpStatus* Retain(const EpValueDef* value, EpConstant** constant);
  EpStatus* Drop(const EpValueDef* value);

 private:
  // Returns the index of the constant in `graph`; -1: it does not belong to this task.
  int FindConstant(const EpValueDef* value, std::shared_ptr<DebugGraph>* graph) const;

  const Kind kind_;
  const std::vector<std::shared_ptr<DebugGraph>> graphs_;
  RetainedConstants& constants_;
  EpTask* handle_;
  EpProfile* profile_ = nullptr;
  std::recursive_mutex mutex_;
  std::atomic<bool> cancel_{false};
  std::atomic<bool> told_{false};
  EpCancelListener listener_ = nullptr;
  void* listener_user_ = nullptr;
  std::set<uint64_t> declined_;
};

}  // namespace epiphyte::conformance
