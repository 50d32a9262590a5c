// Mapping guard: what happens when a mapped file is truncated by somebody else.
//
// Reading a page that the file no longer has raises SIGBUS, which ends a process by default. With the guard installed,
// such a fault inside a GuardedMapping puts zeros in the place of the bytes that are gone and marks the mapping;
// whoever relies on the mapping looks at the mark when his work is done, and reports the file. Faults at any other
// address, and signals that were sent, go to whoever handled SIGBUS before.
//
//   InstallMappingGuard();
//   MappingMark mark;
//   GuardedMapping guarded(data, size, &mark);
//   Use(data, size);
//   if (mark.lost()) …   // part of what was read were zeros
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace epiphyte::core {

// Takes over SIGBUS for the process; once, however often it is called. Nothing else in the core does. Whoever installs
// a handler later keeps it, and passes faults of others on to this one if he wants the guard to work on. [any thread]
void InstallMappingGuard();

class MappingMark {
 public:
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  void Set() { lost_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> lost_{false};
};

// Whether any mapping of the process was ever marked: one relaxed load, for those who look often.
bool AnyMappingLost();

// Registers memory of a mapping for as long as the object lives; [data, data + size) must be mapped all that time, and
// `mark` must live. `data` is the start of a page. [any thread]
class GuardedMapping {
 public:
  GuardedMapping(const void* data, size_t size, MappingMark* mark);
  ~GuardedMapping();
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;

 private:
  struct MappingSlot* slot_;
};

// For system calls that read memory, which fail with EFAULT instead of raising a signal: reads a byte of each page, and
// says whether the call is worth another try, which it is if the memory belongs to a guarded mapping.
bool TouchGuarded(const void* data, size_t size);

// Gives the memory of these pages back to the system if they belong to a guarded mapping, which has them again from its
// file when they are read; other memory stays as it is.
void ReleaseGuardedPages(const void* data, size_t size);

}  // namespace epiphyte::core
