// Task: one Compile, LoadContext or GetEpContextNodes in progress. It reports progress and tells whether the user has
// cancelled.
//
//   for (size_t i = 0; i < layers; ++i) {
//     task.Report(i, layers);          // throws MODEL_LOAD_CANCELED when the user has cancelled
//     Compile(layer[i], task.Part(i, layers));  // reports of the part count for its share of the whole
//   }
//
//   // For an SDK with a compiler that is one long call, and a handle to abort it:
//   kit::CancelListener abort(task, [&] { sdk.Abort(); });
//   sdk.Compile();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

class Run;

// A small value, cheap to copy; valid until the call that received it returns. [any thread]
class Task {
 public:
  Task(const EpHostInfo& host, EpTask* task) : host_(&host), task_(task) {}

  // Reports that `done` of `total` units are done, in any unit; `total` is 0 when it is not known. `text` tells the
  // user what is being done; it may be null. Throws MODEL_LOAD_CANCELED when the user has cancelled.
  void Report(uint64_t done, uint64_t total, const char* text = nullptr) const;
  // A view of this task for part `index` of `count` parts of equal size.
  Task Part(uint64_t index, uint64_t count) const;

  // Cheap and without output to the user, so you can ask often.
  bool IsCancelled() const { return host_->task->IsCancelled(task_) != 0; }
  void ThrowIfCancelled() const;
  EpTask* handle() const { return task_; }
  const EpHostInfo& host() const { return *host_; }

 private:
  const EpHostInfo* host_;
  EpTask* task_;
  // This task's range within the whole, from 0 to 1. Reports are scaled to it.
  double begin_ = 0;
  double size_ = 1;
};

// Calls `listener` when the task or run is cancelled, or at once if it was cancelled before, for as long as this object
// lives. The call comes on the cancelling thread, which waits for it; so the listener should only tell the SDK to give
// up. A task or run has at most one listener.
class CancelListener {
 public:
  CancelListener(const Task& task, std::function<void()> listener);
  CancelListener(const Run& run, std::function<void()> listener);
  ~CancelListener();
  CancelListener(const CancelListener&) = delete;
  CancelListener& operator=(const CancelListener&) = delete;

 private:
  const EpHostInfo& host_;
  EpTask* task_ = nullptr;
  EpRun* run_ = nullptr;
  std::function<void()> listener_;
};

}  // namespace epiphyte::kit
