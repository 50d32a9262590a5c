// Task: one running Compile, LoadContext or GetEpContextNodes, as the plugin reaches it from any of its threads.
//
//   Task task(progress, partitions.size());
//   plugin->Compile(provider, infos, count, task.handle(), kernels);
//   if (const std::string* reason = task.declined(0)) …
//
// The plugin gets a number, which is looked up: a task that has ended is not found. No number is given out twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/abi/retained_constants.h"
#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_task.h"

namespace epiphyte::core {

// Called while a provider compiles, loads or saves; returns true to cancel. `text` may be empty.
using ProgressFunction = std::function<bool(uint64_t done, uint64_t total, const std::string& text)>;

class Task {
 public:
  // Data of a task besides reports.
  struct Subject {
    size_t partitions = 0;  // number of partitions that may be declined
    // Constants that the plugin may retain in the name of `owner`; null: none. Outlives the task.
    ShownConstants* constants = nullptr;
    const void* owner = nullptr;
    EpProfile* profile = nullptr;  // null: the session isn't profiled
  };
  // `report` may be empty, and outlives the task.
  Task(const ProgressFunction& report, const Subject& subject);
  explicit Task(const ProgressFunction& report, size_t partitions = 0) : Task(report, Subject{partitions}) {}
  ~Task() { End(); }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  EpTask* handle() const;
  // Ends the task: its handle is invalid from then on. Waits for calls that the plugin's other threads are in.
  void End();
  // Call it after End. Reason for giving the partition back; null when the plugin didn't.
  const std::string* declined(size_t partition) const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace epiphyte::core
