// Programs that tests start as child processes: the worker, and the command line.
//
//   Program compile = Worker({"compile", model});
//   EXPECT_EQ(compile.Wait().out, "OK\n");
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/contexts.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {

struct ProgramEnd {
  int code = -1;   // exit code, unless a signal ended the program
  int signal = 0;  // signal that ended the program
  bool in_time = true;
  std::string out;
  std::string err;
};

class Program {
 public:
  // Starts the program. `environment` is added to the test's own.
  Program(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Signal(int signal) const;
  // Waits for the program, and kills it after `limit`.
  ProgramEnd Wait(std::chrono::seconds limit = std::chrono::seconds(60));

 private:
  TempDir outputs_;
  pid_t pid_ = -1;
};

// Return the arguments that start faults_worker or the command line with `words`.
std::vector<std::string> WorkerWords(std::vector<std::string> words);
std::vector<std::string> EpiphyteWords(std::vector<std::string> words);
std::vector<std::string> SharingWords(std::vector<std::string> words);
ProgramEnd RunWorker(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {},
                     std::chrono::seconds limit = std::chrono::seconds(60));

std::string ToText(const Numbers& numbers);
// Returns the numbers in the first line of a worker's output; empty when that line is not a list of numbers.
Numbers NumbersFrom(const std::string& text);

}  // namespace epiphyte::test
