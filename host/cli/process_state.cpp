#include "host/cli/process_state.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <clocale>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "host/cli/interrupt.h"

extern char** environ;

namespace epiphyte::cli {
namespace {

std::string LimitName(int limit) {
  switch (limit) {
    case RLIMIT_AS: return "address space (ulimit -v)";
    case RLIMIT_CORE: return "core files (ulimit -c)";
    case RLIMIT_CPU: return "processor time (ulimit -t)";
    case RLIMIT_DATA: return "data (ulimit -d)";
    case RLIMIT_FSIZE: return "file sizes (ulimit -f)";
    case RLIMIT_MEMLOCK: return "locked memory (ulimit -l)";
    case RLIMIT_NOFILE: return "open files (ulimit -n)";
    case RLIMIT_NPROC: return "processes (ulimit -u)";
    case RLIMIT_STACK: return "the stack (ulimit -s)";
    default: return "resource " + std::to_string(limit);
  }
}

std::string ToText(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit); }

std::string Octal(uint32_t mask) {
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, mask, 8).ptr;
  return "0" + std::string(text, end);
}

std::map<int, std::pair<uint64_t, uint64_t>> OpenDescriptors() {
  std::map<int, std::pair<uint64_t, uint64_t>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    struct stat file = {};
    // This skips the descriptor of the folder that is being read.
    if (descriptor < 0 || fstat(descriptor, &file) != 0) continue;
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry->path(), ignored).string().starts_with("/proc/")) continue;
    found[descriptor] = {static_cast<uint64_t>(file.st_dev), static_cast<uint64_t>(file.st_ino)};
  }
  return found;
}

}  // namespace

ProcessState ProcessState::Current() {
  ProcessState state;
  std::error_code error;
  state.folder_ = std::filesystem::current_path(error).string();
  state.file_mask_ = umask(0);
  umask(static_cast<mode_t>(state.file_mask_));
  const char* const locale = std::setlocale(LC_ALL, nullptr);
  state.locale_ = locale == nullptr ? "" : locale;
  for (int limit = 0; limit < static_cast<int>(state.limits_.size()); ++limit) {
    rlimit found = {};
    if (getrlimit(static_cast<__rlimit_resource_t>(limit), &found) == 0)
      state.limits_[static_cast<size_t>(limit)] = {found.rlim_cur, found.rlim_max};
  }
  for (int number = 1; number < kSignals; ++number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    state.handlers_[static_cast<size_t>(number)] = (action.sa_flags & SA_SIGINFO) != 0
                                                       ? reinterpret_cast<uintptr_t>(action.sa_sigaction)
                                                       : reinterpret_cast<uintptr_t>(action.sa_handler);
  }
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t end = text.find('=');
    if (end != text.npos) state.environment_.emplace(text.substr(0, end), text.substr(end + 1));
  }
  state.descriptors_ = OpenDescriptors();
  return state;
}

std::vector<std::string> ProcessState::ChangesSince(const ProcessState& before) const {
  std::vector<std::string> changes;
  const auto compare = [&](const std::string& what, const std::string& from, const std::string& to) {
    if (from != to) changes.push_back(what + " changed from " + from + " to " + to);
  };
  compare("the working directory", "'" + before.folder_ + "'", "'" + folder_ + "'");
  compare("the mask for the modes of new files (umask)", Octal(before.file_mask_), Octal(file_mask_));
  compare("the locale", "'" + before.locale_ + "'", "'" + locale_ + "'");
  for (size_t i = 0; i < limits_.size(); ++i) {
    const std::string name = "limit of " + LimitName(static_cast<int>(i));
    compare("the " + name, ToText(before.limits_[i].first), ToText(limits_[i].first));
    compare("the hard " + name, ToText(before.limits_[i].second), ToText(limits_[i].second));
  }
  for (size_t i = 1; i < handlers_.size(); ++i) {
    if (handlers_[i] != before.handlers_[i]) {
      changes.push_back("what happens at " + SignalName(static_cast<int>(i)) + " changed");
    }
  }
  for (const auto& [name, value] : before.environment_) {
    const auto now = environment_.find(name);
    if (now == environment_.end()) changes.push_back("environment variable " + name + " was removed");
    if (now != environment_.end() && now->second != value)
      changes.push_back("environment variable " + name + " changed");
  }
  for (const auto& [name, value] : environment_) {
    if (!before.environment_.contains(name)) changes.push_back("environment variable " + name + " was set");
  }
  for (const auto& [descriptor, file] : before.descriptors_) {
    const auto now = descriptors_.find(descriptor);
    if (now == descriptors_.end()) changes.push_back("descriptor " + std::to_string(descriptor) + " was closed");
    if (now != descriptors_.end() && now->second != file)
      changes.push_back("descriptor " + std::to_string(descriptor) + " is another file now");
  }
  return changes;
}

}  // namespace epiphyte::cli
