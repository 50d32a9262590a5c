// Task: one Compile, LoadContext or GetEpContextNodes while it runs: how far it is, and whether the user has given up.
//
//   for (size_t i = 0; i < layers; ++i) {
//     task.Report(i, layers);          // throws MODEL_LOAD_CANCELED when the user has cancelled
//     Compile(layer[i], task.Part(i, layers));  // reports of the part count for its share of the whole
//   }
//
//   // An SDK whose compiler is one long call, and has a handle to abort it:
//   kit::CancelListener abort(task, [&] { sdk.Abort(); });
//   sdk.Compile();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

class Run;

// A small value, good until the call that got it returns. [any thread]
class Task {
 public:
  Task(const EpHostInfo& host, EpTask* task) : host_(&host), task_(task) {}

  // `done` of `total` in any unit, 0 when the total isn't known. `text`: what is being done, for the user; may be null.
  // Throws MODEL_LOAD_CANCELED when the user has cancelled.
  void Report(uint64_t done, uint64_t total, const char* text = nullptr) const;
  // The same task as seen by part `index` of `count` parts of equal size.
  Task Part(uint64_t index, uint64_t count) const;

  // Says nothing to the user, so it may be asked often.
  bool IsCancelled() const { return host_->task->IsCancelled(task_) != 0; }
  void ThrowIfCancelled() const;
  EpTask* handle() const { return task_; }
  const EpHostInfo& host() const { return *host_; }

 private:
  const EpHostInfo* host_;
  EpTask* task_;
  // What part of the whole this is; all of it is passed on as it is reported.
  double begin_ = 0;
  double size_ = 1;
};

// While it lives, `listener` is called when the task, or the run, is cancelled, at once if that has happened; on the
// thread that cancels, which waits for it: it must only tell the SDK to give up. One for each task and run.
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
