#include "core/runtime/session_progress.h"

#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/process_end.h"

namespace epiphyte::core {

std::string_view SessionPhaseName(SessionPhase phase) {
  static constexpr std::array<std::string_view, 7> kNames = {"waiting", "reading",   "transforming", "partitioning",
                                                             "loading", "compiling", "writing"};
  const auto index = static_cast<size_t>(phase);
  return index < kNames.size() ? kNames[index] : "unknown";
}

bool ProgressReporter::State::Tell(uint64_t done, uint64_t total, std::string_view text) {
  const std::thread::id me = std::this_thread::get_id();
  if (speaker == me) return cancelled;
  const std::lock_guard lock(callback_mutex);
  if (!report || cancelled) return cancelled;
  struct ScopedReporter {
    ScopedReporter(std::atomic<std::thread::id>& who, std::thread::id me) : who_(who) { who_ = me; }
    ~ScopedReporter() { who_ = std::thread::id(); }
    std::atomic<std::thread::id>& who_;
  };
  const ScopedReporter speaking(speaker, me);
  if (report({phase, done, total, std::string(text)})) cancelled = true;
  return cancelled;
}

void ProgressReporter::State::ThrowIfCancelled() const {
  ProcessEnd::ThrowIfBegun();
  if (!cancelled) return;
  Fail(StatusCode::kModelLoadCanceled, "creating the session was cancelled while {}", SessionPhaseName(phase.load()));
}

ProgressReporter::ProgressReporter(SessionProgressFunction report)
    : state_(std::make_shared<State>(std::move(report))) {}

ProgressReporter::~ProgressReporter() {
  const std::lock_guard lock(state_->callback_mutex);
  state_->report = nullptr;
}

void ProgressReporter::Enter(SessionPhase phase, std::string_view text) {
  state_->ThrowIfCancelled();
  state_->phase = phase;
  Report(0, 0, text);
}

void ProgressReporter::Report(uint64_t done, uint64_t total, std::string_view text) {
  state_->Tell(done, total, text);
  state_->ThrowIfCancelled();
}

void ProgressReporter::ThrowIfCancelled() const { state_->ThrowIfCancelled(); }

ProgressCallback ProgressReporter::MakeProgressCallback() const {
  if (!state_->listens) return {};
  return [state = state_](uint64_t done, uint64_t total, std::string_view text) {
    state->Tell(done, total, text);
    state->ThrowIfCancelled();
  };
}

ProgressFunction ProgressReporter::MakePluginProgress() const {
  if (!state_->listens) return {};
  return [state = state_](uint64_t done, uint64_t total, const std::string& text) {
    return state->Tell(done, total, text);
  };
}

}  // namespace epiphyte::core
