#include "epiphyte/kit/abi/task.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/process_end.hpp"
#include "epiphyte/kit/abi/run.hpp"

namespace epiphyte::kit {
namespace {

constexpr char kCancelled[] = "compiling was cancelled";

void EP_CALL Listen(void* user) {
  try {
    (*static_cast<const std::function<void()>*>(user))();
  } catch (...) {
    // The cancelling thread can't handle the exception, and the work will end by itself.
  }
}

}  // namespace

void Task::Report(uint64_t done, uint64_t total, const char* text) const {
  uint64_t shown = done;
  uint64_t of = total;
  if (begin_ != 0 || size_ != 1) {
    constexpr double kWhole = 1'000'000;
    const double part = total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    of = static_cast<uint64_t>(kWhole);
    shown = std::min(of, static_cast<uint64_t>((begin_ + size_ * part) * kWhole));
  }
  if (ProcessEnd::HasBegun() || host_->task->ReportProgress(task_, shown, of, text) != 0)
    throw Error(EP_STATUS_MODEL_LOAD_CANCELED, kCancelled);
}

Task Task::Part(uint64_t index, uint64_t count) const {
  Task part = *this;
  if (count == 0) return part;
  part.size_ = size_ / static_cast<double>(count);
  part.begin_ = begin_ + part.size_ * static_cast<double>(std::min(index, count));
  return part;
}

void Task::ThrowIfCancelled() const {
  if (ProcessEnd::HasBegun() || IsCancelled()) throw Error(EP_STATUS_MODEL_LOAD_CANCELED, kCancelled);
}

CancelListener::CancelListener(const Task& task, std::function<void()> listener)
    : host_(task.host()), task_(task.handle()), listener_(std::move(listener)) {
  ThrowIfFailed(host_, host_.task->SetCancelListener(task_, Listen, &listener_));
}

CancelListener::CancelListener(const Run& run, std::function<void()> listener)
    : host_(run.host()), run_(run.handle()), listener_(std::move(listener)) {
  ThrowIfFailed(host_, host_.run->SetCancelListener(run_, Listen, &listener_));
}

CancelListener::~CancelListener() {
  // Waits until no call of the listener is in progress.
  EpStatus* const status = task_ != nullptr ? host_.task->SetCancelListener(task_, nullptr, nullptr)
                                            : host_.run->SetCancelListener(run_, nullptr, nullptr);
  host_.status->Release(status);
}

}  // namespace epiphyte::kit
