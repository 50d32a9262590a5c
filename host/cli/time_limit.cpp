#include "host/cli/time_limit.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

#include "epiphyte/error.hpp"
#include "epiphyte/files.hpp"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr int kTimedOut = 124;  // the exit code of timeout(1)

// Returns false when the command ended first.
bool Sleep(const std::stop_token& ended, std::chrono::duration<double> time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, ended, time, [] { return false; });
  return !ended.stop_requested();
}

}  // namespace

TimeLimit::TimeLimit(double seconds) : seconds_(seconds) {
  if (seconds <= 0) return;
  timer_ = std::jthread([this](const std::stop_token& ended) {
    if (!Sleep(ended, std::chrono::duration<double>(seconds_))) return;
    over_.request_stop();
    if (!Sleep(ended, kPatience)) return;
    RemoveUnfinishedFiles();
    const std::string text = "epiphyte: error: " + Message("waiting for code that can't be cancelled") + "\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    _exit(kTimedOut);
  });
}

TimeLimit::~TimeLimit() = default;

std::string TimeLimit::Message(const std::string& doing) const {
  return "the time limit of " + NumberText(seconds_) + " s was over while " + doing + "; raise --time-limit";
}

void TimeLimit::Watch(const std::string& doing, const std::function<void()>& action) const {
  try {
    action();
  } catch (const Error&) {
    if (!is_over()) throw;
    throw Error(StatusCode::kCanceled, Message(doing));
  }
  if (is_over()) throw Error(StatusCode::kCanceled, Message(doing));
}

}  // namespace epiphyte::cli
