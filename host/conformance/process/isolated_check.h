// Runs one check in a separate process, so that a plugin that crashes, ends its process or hangs fails only that check.
//
//   RunIsolated(journal, [&] { CheckCompile(journal, target); });
#pragma once

#include <chrono>
#include <functional>

#include "host/conformance/rules/journal.h"

namespace epiphyte::conformance {

// Thrown to end a check after its first failure, because later failures may follow from it.
struct CheckEnded {};

struct Isolation {
  bool fork = true;  // false: run in this process, for debuggers
  std::chrono::seconds limit{60};
};

// Runs `check` in a child process. A crash there fails the rule that the journal blames at that moment.
void RunIsolated(Journal& journal, const Isolation& isolation, const std::function<void()>& check);

}  // namespace epiphyte::conformance
