// RunForked: runs a part of a test in a process of its own, so that a crash, a kill or a hang is a result like any
// other.
//
// The child is a fork. Everything that the parent has loaded is there already, so the thousandth repetition costs no
// more than the first. The parent must have no threads.
//
//   Outcome outcome = RunForked([&] { Compile(model, options); return "compiled"; });
//   EXPECT_EQ(outcome.text, "compiled") << outcome.Describe();
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace epiphyte::test {

struct Outcome {
  enum class End {
    kReturned,  // text is the result of the body
    kError,     // text is status and message of an epiphyte::Error
    kEscaped,   // text names the type of an exception that is not an epiphyte::Error
    kSignal,    // signal is its number; text is the library in which it occurred, if known
    kTimeout,
    kExit,  // the process ended itself in another way
  };
  End end = End::kExit;
  int signal = 0;
  std::string text;
  uint64_t calls = 0;  // result of `around.after`

  bool returned() const { return end == End::kReturned; }
  bool error() const { return end == End::kError; }
  std::string Describe() const;
};

// Calls that the child makes right before and after the body. They arm and disarm faults.
struct Around {
  std::function<void()> before = [] {};
  std::function<uint64_t()> after = [] { return uint64_t{0}; };
};

Outcome RunForked(const std::function<std::string()>& body, const Around& around = {},
                  std::chrono::seconds limit = std::chrono::seconds(30));

}  // namespace epiphyte::test
