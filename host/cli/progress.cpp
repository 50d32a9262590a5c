#include "host/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "host/cli/text.h"

namespace epiphyte::cli {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Progress::Progress(std::string what) : what_(Printable(what)) {
  if (!isatty(STDERR_FILENO)) return;
  try {
    thread_ = std::thread([this] { Show(); });
  } catch (const std::system_error&) {
    // No thread can be started: the work is done without a bar.
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::Update(const SessionProgress& at) {
  constexpr size_t kMostText = 40;
  if (!thread_.joinable()) return;
  std::string detail(SessionPhaseName(at.phase));
  if (!at.text.empty()) detail += " " + Printable(at.text.substr(0, kMostText));
  std::lock_guard lock(mutex_);
  fraction_ = at.total == 0 ? -1 : std::min(1.0, static_cast<double>(at.done) / static_cast<double>(at.total));
  detail_ = std::move(detail);
}

std::string Progress::Bar(int step) const {
  constexpr int kWidth = 24;
  constexpr int kBlock = 6;
  std::string bar(kWidth, ' ');
  if (fraction_ >= 0) return bar.replace(0, static_cast<size_t>(fraction_ * kWidth), static_cast<size_t>(fraction_ * kWidth), '=');
  int span = kWidth - kBlock;
  int position = step % (2 * span);
  if (position > span) position = 2 * span - position;
  return bar.replace(static_cast<size_t>(position), kBlock, kBlock, '=');
}

void Progress::Show() {
  const auto start = steady_clock::now();
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, milliseconds(1000), [this] { return done_; })) return;
  for (int step = 0; !done_; ++step) {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - start).count();
    std::fprintf(stderr, "\r%s [%s] %lld s %s\033[K", what_.c_str(), Bar(step).c_str(), static_cast<long long>(seconds),
                 detail_.c_str());
    std::fflush(stderr);
    changed_.wait_for(lock, milliseconds(100), [this] { return done_; });
  }
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace epiphyte::cli
