#include "core/base/watched_call.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <system_error>

#include "core/base/log.h"

namespace epiphyte::core {
namespace {

// Exit code that a shell treats as failure, used when the plugin called exit(0).
constexpr int kExitCode = 1;

// The process that loaded plugins. A child that a plugin forked may end in any way.
constinit std::atomic<pid_t> g_process{0};

std::string CurrentFolderText() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  return error ? "a folder that is gone" : "'" + folder.string() + "'";
}

}  // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local const WatchedCall* WatchedCall::t_current = nullptr;

WatchedCall::Folder WatchedCall::Folder::Current() {
  struct stat found = {};
  if (stat(".", &found) != 0) return {};
  return {static_cast<uint64_t>(found.st_dev), static_cast<uint64_t>(found.st_ino)};
}

void WatchedCall::Compare(FloatMode mode) const noexcept {
  if (mode != mode_) CompareMode(mode_, mode);
  if (!watches_folder_ || Folder::Current() == folder_) return;
  try {
    Report("folder",
           fmt::format("the working directory changed to {}, where relative paths start now", CurrentFolderText()));
  } catch (const std::exception&) {
    // There is no memory for the message.
  }
}

void WatchedCall::CompareMode(FloatMode before, FloatMode after) const noexcept {
  before.Restore();
  try {
    Report("mode", fmt::format("the thread's floating-point mode changed, from {} to {}; it was restored",
                               before.ToText(), after.ToText()));
  } catch (const std::exception&) {
    // There is no memory for the message.
  }
}

void WatchedCall::Report(std::string_view kind, std::string_view text) const {
  static constinit std::mutex mutex;
  static auto* const reported = new std::set<std::string>;  // leaked: plugins are called until the process ends
  {
    const std::lock_guard lock(mutex);
    if (!reported->insert(fmt::format("{}\n{}\n{}", plugin_, function_, kind)).second) return;
  }
  Log(LogLevel::kWarning, "abi", "provider '{}': in {} {}; report this to the plugin's vendor", plugin_, function_,
      text);
}

void WatchedCall::NoticeExit() {
  g_process = getpid();
#if defined(__GLIBC__)
  on_exit(&OnExit, nullptr);
#else
  std::atexit([] { OnExit(0, nullptr); });
#endif
  static const int quick = std::at_quick_exit([] { OnExit(0, nullptr); });
  (void)quick;
}

// Handlers that are registered last are called first. Handlers of libraries that were opened earlier, and destructors
// of static objects, don't run, because the stack frames of the plugin call still exist beside them.
void WatchedCall::OnExit(int status, void*) {
  const WatchedCall* const call = t_current;
  if (call == nullptr || g_process != getpid()) return;
  char text[512];
  const int size = std::snprintf(
      text, sizeof text,
      "epiphyte: error: exit was called inside of provider '%.*s', in %.*s, with code %d; a plugin must not end the "
      "process: report this to its vendor and disable it in epiphyte.yaml until then\n",
      static_cast<int>(call->plugin_.size()), call->plugin_.data(), static_cast<int>(call->function_.size()),
      call->function_.data(), status);
  if (size > 0) {
    const auto length = static_cast<size_t>(size) < sizeof text ? static_cast<size_t>(size) : sizeof text - 1;
    if (write(STDERR_FILENO, text, length) < 0) {
      // There is no other place to report it.
    }
  }
  _exit((status & 0xFF) == 0 ? kExitCode : status);
}

}  // namespace epiphyte::core
