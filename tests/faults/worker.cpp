// faults_worker: compiles or runs one of the test models in a process of its own.
//
//   faults_worker compile MODEL [KEY=VALUE...]
//   faults_worker run MODEL THREADS [KEY=VALUE...]      prints the numbers
//   faults_worker read MODEL SECONDS                    runs again and again; prints each new result once
// faults_worker peak compile|run MODEL [KEY=VALUE...]      prints the result, then the peak memory, in KiB
//
// The first line is the result: "OK", the numbers, or status and message. Options are session options.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "tests/faults/contexts.h"
#include "tests/faults/program.h"

namespace epiphyte::test {
namespace {

SessionOptions With(SessionOptions options, std::span<char*> settings) {
  for (const std::string setting : settings) {
    const size_t equals = setting.find('=');
    options.Set(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return options;
}

std::string Numbered(const std::filesystem::path& model, const SessionOptions& options) {
  Numbers numbers;
  const std::string result = ResultOf([&] { numbers = RunModel(model, options); });
  return result == "OK" ? ToText(numbers) : result;
}

// With EPIPHYTE_FAULTS_GATE=FOLDER in the environment: reports in the folder that compiling has begun, and waits until
// the folder has a file "open".
void WaitAtGate() {
  const char* gate = std::getenv("EPIPHYTE_FAULTS_GATE");
  if (gate == nullptr) return;
  const std::filesystem::path folder = gate;
  std::ofstream(folder / std::to_string(getpid())) << "here";
  while (!std::filesystem::exists(folder / "open")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::string Compiled(const std::filesystem::path& model, std::span<char*> settings) {
  return ResultOf([&] {
    bool waited = false;
    SessionOptions options = With(CompileOptions(), settings);
    options.SetProgress([&](const SessionProgress& at) {
      if (at.phase == SessionPhase::kCompile && !std::exchange(waited, true)) WaitAtGate();
      return false;
    });
    Compile(model, options);
  });
}

void Read(const std::filesystem::path& model, double seconds) {
  std::set<std::string> seen;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t count = 0;
  for (; std::chrono::steady_clock::now() < end; ++count) {
    const std::string result = Numbered(model, CpuOptions());
    if (seen.insert(result).second) std::printf("%s\n", result.c_str());
  }
  std::printf("reads: %zu\n", count);
}

// Returns the peak of resident memory, mapped files included.
std::string PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::to_string(std::atoll(line.c_str() + 6));
  }
  return "0";
}

int Main(std::span<char*> words) {
  const std::string command = words.size() > 1 ? words[1] : "";
  if (command == "compile" && words.size() > 2) {
    std::printf("%s\n", Compiled(words[2], words.subspan(3)).c_str());
  } else if (command == "run" && words.size() > 3) {
    const SessionOptions options = With(CpuOptions(static_cast<uint32_t>(std::atoi(words[3]))), words.subspan(4));
    std::printf("%s\n", Numbered(words[2], options).c_str());
  } else if (command == "read" && words.size() == 4) {
    Read(words[2], std::atof(words[3]));
  } else if (command == "peak" && words.size() > 3) {
    const bool compile = std::strcmp(words[2], "compile") == 0;
    const std::string result =
        compile ? Compiled(words[3], words.subspan(4)) : Numbered(words[3], With(CpuOptions(), words.subspan(4)));
    std::printf("%s\n%s\n", result.c_str(), PeakMemory().c_str());
  } else {
    std::fprintf(stderr, "usage: see worker.cpp\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) { return epiphyte::test::Main({argv, static_cast<size_t>(argc)}); }
