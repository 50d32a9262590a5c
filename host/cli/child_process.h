// RunChild: runs another program to its end or to a time limit, and captures its outputs.
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
  std::vector<std::string> words;  // the program and its arguments; a program without a slash is searched in PATH
  std::string_view input;
  // The child's descriptor from which `out` is read, 1 or 2. Output to the other one goes to `err`.
  int out_descriptor = 1;
  std::optional<std::chrono::milliseconds> limit;  // time after which the program and all its children are killed
  size_t max_out = SIZE_MAX;                       // limit of `out` in bytes; more is dropped
  size_t max_err = 64 << 10;
};

struct ChildResult {
  int code = -1;   // exit code; -1: a signal or the limit ended it
  int signal = 0;  // number of the signal that ended it; 0: none
  bool timed_out = false;
  std::string out;
  std::string err;
};

// Throws NOT_FOUND when the program can't be started, and FAIL when the system can't make pipes or processes.
ChildResult RunChild(const ChildRequest& request);

}  // namespace epiphyte::cli
