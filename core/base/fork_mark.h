// Fork mark: tells what was made before fork() from what this process has made itself.
//
// A forked child has a copy of each object of its parent, but neither the threads behind it nor a device that both
// could use. Objects that depend on such things carry a mark and refuse to work in a child, instead of waiting for
// threads that aren't there.
//
//   ForkMark made_;
//   if (made_.IsInherited()) Fail(StatusCode::kFail, "…");
#pragma once

#include <cstdint>

namespace epiphyte::core {

class ForkMark {
 public:
  ForkMark() : forks_(CountForks()) {}
  // This process is a child that was forked after the mark was made. [any thread]
  bool IsInherited() const { return forks_ != CountForks(); }

 private:
  static uint32_t CountForks();

  uint32_t forks_;
};

}  // namespace epiphyte::core
