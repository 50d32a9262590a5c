// Shared code of the tools' main functions: exit codes, errors in one line, signals.
//
// Exit code: 0 on success, 1 when the work failed, 2 when the command line was wrong, 128 + signal when a signal ended
// the program. An error is one line on standard error; standard output has results only. With --json it has one JSON
// document in every case: the result, or {"error": {"code", "message", "hint", "exit_code"}}.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "epiphyte/error.hpp"

namespace epiphyte::cli {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

// The command line was wrong: exit code kUsage.
class UsageError : public Error {
 public:
  explicit UsageError(std::string message) : Error(StatusCode::kInvalidArgument, std::move(message)) {}
};

// A failure that the printed result already contains, so no JSON is printed for it.
class ReportedError : public Error {
 public:
  using Error::Error;
};

// Prints "<program>: error: <message>" and returns `code`.
int ReportError(std::string_view program, int code, std::string_view message);

// Runs `body` and returns its exit code. Reports every exception. `json`: --json was given.
int RunMain(const std::string& program, const std::function<int()>& body, bool json = false);

}  // namespace epiphyte::cli
