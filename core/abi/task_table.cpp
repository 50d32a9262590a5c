// Tasks and their table: progress, cancellation and declined partitions.
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/abi/handles.h"
#include "core/abi/task.h"
#include "core/base/log.h"

namespace epiphyte::core {

struct Task::State {
  const ProgressFunction* report;
  ShownConstants* constants;
  const void* owner;
  EpProfile* profile;
  uintptr_t number = 0;
  // The end of the task waits for the calls that use it.
  std::mutex calls_mutex;
  std::condition_variable calls_done;
  uint64_t calls = 0;
  bool ended = false;
  std::atomic<bool> cancelled{false};
  // Recursive, because a listener may remove itself.
  std::recursive_mutex listener_mutex;
  EpCancelListener listener = nullptr;
  void* user = nullptr;
  std::mutex declined_mutex;
  std::vector<std::optional<std::string>> declined;

  void Cancel() {
    if (cancelled.exchange(true)) return;
    const std::lock_guard<std::recursive_mutex> lock(listener_mutex);
    CallListener();
  }
  // Call it with listener_mutex held.
  void CallListener() {
    const EpCancelListener told = std::exchange(listener, nullptr);
    if (told != nullptr) told(user);
  }
};

namespace {

class Tasks {
 public:
  void Add(const std::shared_ptr<Task::State>& task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    task->number = next_;
    open_.emplace(next_, task);
    next_ += 2;
  }
  void Remove(uintptr_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(number);
  }
  std::shared_ptr<Task::State> Find(const EpTask* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = open_.find(reinterpret_cast<uintptr_t>(handle));
    return found == open_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, std::shared_ptr<Task::State>> open_;
  uintptr_t next_ = 1;  // always odd, because no object's address is
};

// The table is leaked because a plugin's threads may ask until the process ends.
Tasks& TheTasks() {
  static Tasks* const tasks = new Tasks;
  return *tasks;
}

// A task while a call uses it; empty when it has ended.
class OpenTask {
 public:
  explicit OpenTask(const EpTask* handle) : state_(TheTasks().Find(handle)) {
    if (!state_) return;
    std::unique_lock<std::mutex> lock(state_->calls_mutex);
    if (!state_->ended) {
      ++state_->calls;
      return;
    }
    lock.unlock();
    state_.reset();
  }
  ~OpenTask() {
    if (!state_) return;
    const std::lock_guard<std::mutex> lock(state_->calls_mutex);
    if (--state_->calls == 0) state_->calls_done.notify_all();
  }
  OpenTask(const OpenTask&) = delete;
  OpenTask& operator=(const OpenTask&) = delete;
  explicit operator bool() const { return state_ != nullptr; }
  Task::State* operator->() const { return state_.get(); }

 private:
  std::shared_ptr<Task::State> state_;
};

[[noreturn]] void FailEnded() {
  Fail(StatusCode::kInvalidArgument, "a task was used after its call had returned, or the pointer is no task");
}

}  // namespace

Task::Task(const ProgressFunction& report, const Subject& subject) : state_(std::make_shared<State>()) {
  state_->report = &report;
  state_->constants = subject.constants;
  state_->owner = subject.owner;
  state_->profile = subject.profile;
  state_->declined.resize(subject.partitions);
  TheTasks().Add(state_);
}

void Task::End() {
  TheTasks().Remove(state_->number);
  std::unique_lock<std::mutex> lock(state_->calls_mutex);
  state_->ended = true;
  state_->calls_done.wait(lock, [this] { return state_->calls == 0; });
}

EpTask* Task::handle() const { return reinterpret_cast<EpTask*>(state_->number); }

const std::string* Task::declined(size_t partition) const {
  const std::optional<std::string>& reason = state_->declined[partition];
  return reason ? &*reason : nullptr;
}

namespace {

uint32_t EP_CALL ReportProgress(EpTask* handle, uint64_t done, uint64_t total, const char* text) {
  try {
    const OpenTask task(handle);
    if (!task) return 0;
    if (*task->report && !task->cancelled) {
      if ((*task->report)(done, total, CleanText(text, 256))) task->Cancel();
    }
    return task->cancelled ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

uint32_t EP_CALL IsCancelled(const EpTask* handle) {
  try {
    const OpenTask task(handle);
    return task && task->cancelled ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

EpStatus* EP_CALL SetCancelListener(EpTask* handle, EpCancelListener listener, void* user) {
  return Guard([&] {
    const OpenTask task(handle);
    if (!task) FailEnded();
    const std::lock_guard<std::recursive_mutex> lock(task->listener_mutex);
    task->listener = listener;
    task->user = user;
    if (task->cancelled) task->CallListener();
  });
}

EpStatus* EP_CALL DeclinePartition(EpTask* handle, uint64_t index, const char* reason) {
  return Guard([&] {
    const OpenTask task(handle);
    if (!task) FailEnded();
    const std::lock_guard<std::mutex> lock(task->declined_mutex);
    if (index >= task->declined.size()) {
      Fail(StatusCode::kInvalidArgument, "partition {} was declined, but {}", index,
           task->declined.empty() ? "only Compile has partitions to decline"
                                  : fmt::format("this Compile has {}", task->declined.size()));
    }
    if (task->declined[index]) {
      Fail(StatusCode::kInvalidArgument, "partition {} was declined twice", index);
    }
    std::string text = CleanText(reason, 512);
    task->declined[index] = text.empty() ? "no reason given" : std::move(text);
  });
}

ShownConstants& ConstantsOf(const OpenTask& task, const char* function) {
  if (task->constants == nullptr)
    Fail(StatusCode::kInvalidArgument, "{}: only Compile and LoadContext have constants to keep or to drop", function);
  return *task->constants;
}

[[noreturn]] void FailNoConstant(const char* function) {
  Fail(StatusCode::kInvalidArgument,
       "{}: the value is no constant of this task's graphs; take one with the flag CONSTANT", function);
}

EpStatus* EP_CALL RetainConstant(EpTask* handle, const EpValueDef* value, EpConstant** constant) {
  return Guard([&] {
    const OpenTask task(handle);
    if (!task) FailEnded();
    if (constant == nullptr) Fail(StatusCode::kInvalidArgument, "RetainConstant: the place for the reference is null");
    ConstantPtr found = ConstantsOf(task, "RetainConstant").Find(value);
    if (!found) FailNoConstant("RetainConstant");
    *constant = RetainedConstants::All().Add(task->owner, std::move(found));
  });
}

EpStatus* EP_CALL DropConstant(EpTask* handle, const EpValueDef* value) {
  return Guard([&] {
    const OpenTask task(handle);
    if (!task) FailEnded();
    if (!ConstantsOf(task, "DropConstant").Drop(value)) FailNoConstant("DropConstant");
  });
}

void EP_CALL ReleaseConstant(EpConstant* constant) {
  if (constant == nullptr || RetainedConstants::All().Release(constant)) return;
  LogMessage(LogLevel::kError, "abi",
             "a constant was released that the host doesn't know, or that was released before; it was ignored");
}

}  // namespace

EpProfile* ProfileOfTask(const EpTask* handle) noexcept {
  try {
    const OpenTask task(handle);
    return task ? task->profile : nullptr;
  } catch (...) {
    return nullptr;
  }
}

const EpTaskApi kTaskApi = {
    sizeof(EpTaskApi), 0,           ReportProgress, IsCancelled, SetCancelListener, DeclinePartition, RetainConstant,
    ReleaseConstant,   DropConstant};

}  // namespace epiphyte::core
