// LentMemory: memory that a plugin may read or write for a limited time. A forbidden page follows it. It can be made
// read-only, and it is unmapped afterwards. An access that the headers forbid stops the check, and the journal names
// the broken rule.
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
  // The rules that are broken by writing to it once it is read-only, by touching what lies behind it, and by touching
  // it when it was taken away.
  struct Rules {
    std::string name;
    Rule write = Rule::kDoesNotCrash;
    Rule beyond = Rule::kDoesNotCrash;
    Rule gone = Rule::kDoesNotCrash;
  };
  enum class Place { kEnd, kPage };  // where the bytes are: as near to the forbidden page as 64 allows, or on a page

  LentMemory(size_t size, Rules rules, Place place = Place::kEnd);
  ~LentMemory();  // takes it away
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  std::byte* data() const;
  size_t size() const;
  void MakeReadOnly();
  // `gone`: the rule that is broken by touching it now, if not the one of before.
  void TakeAway(std::optional<Rule> gone = {});
  // Whether the bytes around the memory, on its own pages, are unchanged.
  bool SurroundingsAreUntouched() const;

  // In a check's process, once: touching what can't be touched is written to the journal and ends the process.
  static void WatchWith(Journal* journal);
  // The check has failed. Later faults may be a consequence, for example of submitted work that continues while the
  // check ends, so they are not written to the journal.
  static void Forgive();

 private:
  struct Region;
  Region* region_;  // never freed, so that the signal handler can look at it at any time
};

}  // namespace epiphyte::conformance
