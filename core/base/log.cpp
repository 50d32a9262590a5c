#include "core/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "core/base/text.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxMessageBytes = 16 * 1024;
constexpr std::array<std::string_view, 6> kLevelNames = {"trace", "debug", "info", "warning", "error", "off"};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace: return spdlog::level::trace;
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::err;  // a plugin passed a number outside the enum
}

std::optional<LogLevel> LevelFromName(std::string_view name) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), name);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

spdlog::logger* MakeLogger() {
  auto* logger = new spdlog::logger("epiphyte", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog::level::warn);
  if (const char* wanted = std::getenv("EPIPHYTE_LOG"); wanted != nullptr && *wanted != '\0') {
    if (const auto level = LevelFromName(wanted)) {
      logger->set_level(ToSpdlog(*level));
    } else {
      logger->warn("log: EPIPHYTE_LOG is '{}', expected one of trace, debug, info, warning, error, off",
                   PrintableLine(wanted, 64));
    }
  }
  return logger;
}

// Leaked: plugins log until the process ends, also from exit handlers.
spdlog::logger& Logger() {
  static spdlog::logger* const logger = MakeLogger();
  return *logger;
}

// Initial-exec, as in thread_pool.cpp: the memory is allocated with the thread.
[[gnu::tls_model("initial-exec")]] thread_local std::string_view t_tag;

}  // namespace

LogTag::LogTag(std::string_view tag) : before_(t_tag) { t_tag = tag; }
LogTag::~LogTag() { t_tag = before_; }
std::string_view LogTag::Current() { return t_tag; }

bool IsLogged(LogLevel level) { return level != LogLevel::kOff && Logger().should_log(ToSpdlog(level)); }

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }

void LogMessage(LogLevel level, std::string_view origin, std::string_view message) {
  try {
    if (!IsLogged(level)) return;
    const std::string tag = t_tag.empty() ? std::string() : fmt::format("[{}] ", PrintableLine(t_tag, 64));
    Logger().log(ToSpdlog(level), "{}{}: {}", tag, PrintableLine(origin, 64), PrintableLine(message, kMaxMessageBytes));
  } catch (const std::exception&) {
    // There is no memory for the message. The exception must not leave: plugins reach this code through C.
  }
}

}  // namespace epiphyte::core
