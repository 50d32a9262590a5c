// RunChild: another program, run to its end or to a time limit, with its outputs caught.
//
//   ChildResult result = RunChild({.words = {"dot", "-Tsvg"}, .input = graph});
//   if (result.code == 0) Use(result.out);
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epiphyte::cli {

struct ChildRequest {
  std::vector<std::string> words;  // the program, looked for in PATH unless it has a slash, and its arguments
  std::string_view input;
  // The descriptor that `out` is read from. Output to the other of 1 and 2 goes to `err`.
  int out_descriptor = 1;
  std::optional<std::chrono::milliseconds> limit;  // then it is killed, with all that it started
  size_t max_out = SIZE_MAX;                       // bytes beyond it are dropped
  size_t max_err = 64 << 10;
};

struct ChildResult {
  int code = -1;   // exit code, or
  int signal = 0;  // the signal that ended it, or
  bool timed_out = false;
  std::string out;
  std::string err;
};

// Throws NOT_FOUND when the program can't be started, FAIL when the system has no means for a process.
ChildResult RunChild(const ChildRequest& request);

}  // namespace epiphyte::cli
