// Journal: the findings of checks, in memory that a check's process shares with the process that started it. So no
// finding is lost when the plugin ends its process.
//
//   journal.Blame(Rule::kDoesNotCrash, "Compile");              // what a crash from here on breaks
//   journal.Fail(Rule::kCompileWorks, "EP_FAIL: out of tiles");
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/conformance/rules/rules.h"

namespace epiphyte::conformance {

// Exit code with which a check ends its process. With any other code, the plugin has ended it.
constexpr int kCheckDone = 77;

enum class Outcome : int { kPass, kFail, kNotApplicable };

struct Finding {
  Rule rule;
  Outcome outcome;
  std::string message;  // the finding for a failure; the reason for a rule that is not applicable
};

// Thread-safe.
class Journal {
 public:
  Journal();
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void Pass(Rule rule) { Add(rule, Outcome::kPass, {}); }
  void Fail(Rule rule, std::string_view message) { Add(rule, Outcome::kFail, message); }
  void NotApplicable(Rule rule, std::string_view why) { Add(rule, Outcome::kNotApplicable, why); }
  // Allocates nothing and takes no lock, so that signal handlers can call it.
  void Add(Rule rule, Outcome outcome, std::string_view message) noexcept;

  // Sets the rule that a crash breaks; `step` is the current operation of the plugin.
  void Blame(Rule rule, std::string_view step) noexcept;
  Rule blamed() const;
  std::string step() const;
  const char* blamed_step() const noexcept;
  // Records an error of the suite itself; the suite ends with this text.
  void Break(std::string_view message) noexcept;
  std::string broken() const;

  bool HasFailure() const;
  std::vector<Finding> findings() const;

 private:
  struct Pages;
  Pages* pages_;
};

}  // namespace epiphyte::conformance
