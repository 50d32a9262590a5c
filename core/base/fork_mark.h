// ForkMark: distinguishes objects that were made before fork() from objects that this process made.
//
// A forked child has a copy of each object of its parent. It has neither the threads behind the object nor a device
// that both processes could use. Objects that depend on threads or devices carry a mark and refuse to work in a child,
// instead of waiting for threads that don't exist.
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
