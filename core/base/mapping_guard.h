// Mapping guard: handles the truncation of a mapped file by another program.
//
// Reading a page that the file no longer has raises SIGBUS, which ends a process by default. With the guard installed,
// such a fault inside a GuardedMapping puts zeros in the place of the missing bytes and marks the mapping. Code that
// relies on the mapping checks the mark when its work is done, and reports the file. Faults at other addresses, and
// signals that were sent, go to the previous SIGBUS handler.
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

// Installs the process's SIGBUS handler on the first call; later calls do nothing. No other code of the core handles
// SIGBUS. A handler that an application installs later stays installed; it must pass other faults on to this one for
// the guard to work. [any thread]
void InstallMappingGuard();

class MappingMark {
 public:
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  void Set() { lost_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> lost_{false};
};

// Whether any mapping of the process was ever marked. Costs one relaxed load, so frequent calls are cheap.
bool AnyMappingLost();

// Registers memory of a mapping for the lifetime of the object. [data, data + size) must stay mapped, and `mark` must
// live, for as long. `data` is the start of a page. [any thread]
class GuardedMapping {
 public:
  GuardedMapping(const void* data, size_t size, MappingMark* mark);
  ~GuardedMapping();
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;

 private:
  struct MappingSlot* slot_;
};

// For system calls that read memory, which fail with EFAULT instead of raising a signal. Reads a byte of each page.
// Returns whether to retry the call, which is so if the memory belongs to a guarded mapping.
bool TouchGuarded(const void* data, size_t size);

// Returns the memory of these pages to the system if they belong to a guarded mapping. A later read loads them from the
// file again. Other memory stays as it is.
void ReleaseGuardedPages(const void* data, size_t size);

}  // namespace epiphyte::core
