// LentMemory: what a plugin is given to read or write, until its time is over. It ends before a page that nobody may
// touch, can be made read-only, and is taken away afterwards: whoever touches it in a way that the headers forbid stops
// the check, with the rule that was broken in the journal.
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

#include "host/conformance/journal.h"

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
  // What lies around the bytes on their own pages is as it was.
  bool SurroundingsAreUntouched() const;

  // In a check's process, once: touching what can't be touched is written to the journal and ends the process.
  static void WatchWith(Journal* journal);
  // The check has failed: what is touched from here on may be a consequence, as when work that was submitted goes on
  // while the check ends, and is not written to the journal.
  static void Forgive();

 private:
  struct Region;
  Region* region_;  // never freed, so that the signal handler can look at it at any time
};

}  // namespace epiphyte::conformance
