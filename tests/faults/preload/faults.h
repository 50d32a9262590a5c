/* Faults: makes the Nth call of a kind fail, or the process die there.
 *
 * The library defines the functions that it watches (write, fsync, rename, mmap, open, malloc, …) and passes every call
 * on, until it is told otherwise. A test program links it before everything else; any other program gets it with
 * LD_PRELOAD and the variable EPIPHYTE_FAULTS="<kinds>:<n>:<errno>" (numbers; "24:3:28": the third rename or fsync
 * finds the disk full).
 *
 *   EpiphyteFaultsArm(kFaultWrite | kFaultSync, 3, ENOSPC, 0);
 *   …
 *   uint64_t calls = EpiphyteFaultsDisarm();   // fewer than 3: there was no third call
 *
 * Calls of all threads are counted together. Calls inside libc are not seen, except for its allocations. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kFaultWrite = 1,   /* write, pwrite, writev */
  kFaultSync = 2,    /* fsync, fdatasync */
  kFaultRename = 4,  /* rename, renameat, renameat2, link */
  kFaultMap = 8,     /* mmap */
  kFaultOpen = 16,   /* open, openat */
  kFaultMemory = 32, /* malloc, calloc, realloc, aligned_alloc, posix_memalign, and so operator new */
  kFaultUnlink = 64, /* unlink */
  kFaultLock = 128   /* flock */
};

/* From now on, call number `at` (from 1) of these kinds fails with `error`, and with `persistent` every later call too.
 * `error` 0: the process kills itself there with SIGKILL, in the middle of a write and before any other call. `at` 0:
 * calls are only counted. `error` below 0: the process gets signal -`error` there, once, and the call goes on. */
void EpiphyteFaultsArm(uint32_t kinds, uint64_t at, int error, int persistent);
/* Returns the number of calls since Arm. */
uint64_t EpiphyteFaultsDisarm(void);

#ifdef __cplusplus
}
#endif
