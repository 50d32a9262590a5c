// LentMemory: memory that a plugin may read or write for a limited time. An inaccessible page follows it. It can be
// made read-only, and it is unmapped afterwards. An access that the headers forbid stops the check, and the journal
// names the broken rule.
//
//   LentMemory input(64, {.name = "input 0", .write = Rule::kInputsAreReadOnly, .beyond = Rule::kInputsEnd,
//                         .gone = Rule::kRunEndsWithExecute});
//   std::memcpy(input.data(), floats, 64);
//   input.MakeReadOnly();
//   …Execute…
//   input.TakeAway();        // its addresses are never used again in this process
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "host/conformance/rules/journal.h"

namespace epiphyte::conformance {

class LentMemory {
 public:
  // The rules that are broken by a write after MakeReadOnly, by an access behind the memory, and by an access after
  // TakeAway.
  struct Rules {
    std::string name;
    Rule write = Rule::kDoesNotCrash;
    Rule beyond = Rule::kDoesNotCrash;
    Rule gone = Rule::kDoesNotCrash;
  };
  enum class Place { kEnd, kPage };  // as near to the inaccessible page as 64 allows, or at the start of a page

  LentMemory(size_t size, Rules rules, Place place = Place::kEnd);
  ~LentMemory();  // calls TakeAway
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  std::byte* data() const;
  size_t size() const;
  void MakeReadOnly();
  // `gone` is the rule that a later access breaks, if it is not the one given before.
  void TakeAway(std::optional<Rule> gone = {});
  // Returns whether the bytes around the memory, on its own pages, are unchanged.
  bool SurroundingsAreUntouched() const;

  // Call once in the process of a check: a forbidden access is then written to the journal and ends the process.
  static void WatchWith(Journal* journal);
  // The check has failed. Later faults may be a consequence, for example of submitted work that continues while the
  // check ends, so they are not written to the journal.
  static void Forgive();

 private:
  struct Region;
  Region* region_;  // never freed, because the signal handler may read it at any time
};

}  // namespace epiphyte::conformance
