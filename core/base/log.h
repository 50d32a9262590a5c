// Log: spdlog behind one small interface, so that plugins, core and host write to the same place.
//
// The logger is created on first use and deliberately never destroyed: plugins may log until the process ends.
// Level: EPIPHYTE_LOG (trace, debug, info, warning, error, off), default warning. Output: stderr.
//
//   Log(LogLevel::kWarning, "registry", "manifest '{}' ignored: {}", path, reason);
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace epiphyte::core {

// The numbers of EP_LOG_* in the C ABI.
enum class LogLevel { kTrace = 0, kDebug = 1, kInfo = 2, kWarning = 3, kError = 4, kOff = 5 };

// While it lives, lines that its thread logs carry the tag, and so do lines of pool threads that work for this thread.
// An inner LogTag replaces an outer one. `tag` must outlive the object.
class LogTag {
 public:
  explicit LogTag(std::string_view tag);
  ~LogTag();
  LogTag(const LogTag&) = delete;
  LogTag& operator=(const LogTag&) = delete;

  static std::string_view Current();  // "" when there is none

 private:
  std::string_view before_;
};

bool IsLogged(LogLevel level);
void SetLogLevel(LogLevel level);
// One line; line breaks inside `message` are shown as spaces.
void LogMessage(LogLevel level, std::string_view origin, std::string_view message);

template <typename... Args>
void Log(LogLevel level, std::string_view origin, fmt::format_string<Args...> format, Args&&... args) {
  if (IsLogged(level)) LogMessage(level, origin, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace epiphyte::core
