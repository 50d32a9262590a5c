// RunForked: a piece of a test in a process of its own, so that a crash, a kill or a hang is a result like others.
//
// The child is a fork: what the parent has loaded is there already, and the thousandth repetition costs no more than
// the first. The parent must have no threads.
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
    kReturned,  // text is what the body returned
    kError,     // text is status and message of an epiphyte::Error
    kEscaped,   // text names an exception that is no epiphyte::Error
    kSignal,    // signal says which, text the library that was to blame, where that can be told
    kTimeout,
    kExit,  // the process ended itself in another way
  };
  End end = End::kExit;
  int signal = 0;
  std::string text;
  uint64_t calls = 0;  // what `around.after` returned

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
