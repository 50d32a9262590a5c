#include "core/runtime/folding_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"

namespace epiphyte::core {
namespace {

using std::chrono::steady_clock;

// Interval at which a computation is checked: the application expects a report every 200 ms.
constexpr std::chrono::milliseconds kBetweenReports{100};

}  // namespace

FoldingBudget::FoldingBudget(const FoldingLimits& limits, Report report)
    : limits_(limits), report_(std::move(report)) {}

FoldingBudget::~FoldingBudget() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (watcher_.joinable()) watcher_.join();
}

uint64_t FoldingBudget::MostResultBytes(uint64_t input_bytes) const {
  if (is_spent_) return 0;
  uint64_t scaled = 0;
  if (__builtin_mul_overflow(input_bytes, limits_.growth, &scaled)) scaled = UINT64_MAX;
  const uint64_t most = std::min(limits_.result_bytes, std::max(limits_.grown_bytes, scaled));
  return std::min(most, limits_.total_bytes - used_bytes_);
}

void FoldingBudget::CountResult(uint64_t bytes) {
  used_bytes_ += std::min(bytes, limits_.total_bytes - used_bytes_);
  if (used_bytes_ == limits_.total_bytes) Spend(fmt::format("made {} bytes", used_bytes_));
}

void FoldingBudget::Spend(const std::string& what) {
  if (std::exchange(is_spent_, true)) return;
  Log(LogLevel::kInfo, "transform", "constant folding has {}, its limit; what is left is computed in each run", what);
}

FoldingBudget::Computation::Computation(FoldingBudget& budget) : budget_(budget), begin_(steady_clock::now()) {
  if (!budget.watcher_.joinable()) {
    try {
      budget.watcher_ = std::thread([&budget] { budget.Watch(); });
    } catch (const std::system_error& error) {
      Fail(StatusCode::kFail, "the thread that ends long constant folding can't be started: {}", error.what());
    }
  }
  {
    const std::lock_guard lock(budget.mutex_);
    budget.computing_ = &source_;
    budget.deadline_ = begin_ + (budget.limits_.time - budget.used_time_);
  }
  budget.changed_.notify_one();
}

FoldingBudget::Computation::~Computation() {
  {
    const std::lock_guard lock(budget_.mutex_);
    budget_.computing_ = nullptr;
  }
  budget_.used_time_ += steady_clock::now() - begin_;
  if (budget_.used_time_ < budget_.limits_.time) return;
  budget_.Spend(fmt::format("taken {} ms", budget_.limits_.time.count()));
}

void FoldingBudget::Watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (computing_ == nullptr) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_until(lock, std::min(steady_clock::now() + kBetweenReports, deadline_));
    if (ends_ || computing_ == nullptr) continue;
    if (steady_clock::now() >= deadline_) {
      computing_->request_stop();
      changed_.wait(lock);  // until the computation has noticed the stop
      continue;
    }
    if (!report_) continue;
    // Unlocked, because the application may take its time, and the computation may end meanwhile.
    lock.unlock();
    const bool is_cancelled = report_();
    lock.lock();
    if (is_cancelled && computing_ != nullptr) computing_->request_stop();
  }
}

}  // namespace epiphyte::core
