// What the mains of the tools have in common: exit codes, errors in one line, signals.
//
// Exit code: 0 on success, 1 when the work failed, 2 when the command line was wrong, 128 + signal when a signal ended
// it. An error is one line on standard error; standard output carries results only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace epiphyte::cli {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

// Prints "<program>: error: <message>" and returns `code`.
int ReportError(std::string_view program, int code, std::string_view message);

// Runs `body` for its exit code; whatever it throws is reported.
int RunMain(const std::string& program, const std::function<int()>& body);

}  // namespace epiphyte::cli
