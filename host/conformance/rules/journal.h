// Journal: what checks find out, in memory that a check's process shares with the one that started it, so that nothing
// is lost when the plugin takes its process down.
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

// With this code a check's process ends by itself; with any other the plugin ended it.
constexpr int kCheckDone = 77;

enum class Outcome : int { kPass, kFail, kNotApplicable };

struct Finding {
  Rule rule;
  Outcome outcome;
  std::string message;  // what was found for a failure; the reason for a rule that is not applicable
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
  // Allocates nothing and takes no lock: for signal handlers too.
  void Add(Rule rule, Outcome outcome, std::string_view message) noexcept;

  // `step` says what the plugin is asked to do.
  void Blame(Rule rule, std::string_view step) noexcept;
  Rule blamed() const;
  std::string step() const;
  const char* blamed_step() const noexcept;
  // The suite itself is at fault; the text ends it.
  void Break(std::string_view message) noexcept;
  std::string broken() const;

  bool HasFailure() const;
  std::vector<Finding> findings() const;

 private:
  struct Pages;
  Pages* pages_;
};

}  // namespace epiphyte::conformance
