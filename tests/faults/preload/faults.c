#define _GNU_SOURCE
#include "tests/faults/preload/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAULTS_EXPORT __attribute__((visibility("default")))

// glibc's own names for the functions that are replaced below.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static _Atomic uint32_t g_kinds;
static _Atomic uint64_t g_calls;
static uint64_t g_at;
static int g_error;
static int g_persistent;

FAULTS_EXPORT void EpiphyteFaultsArm(uint32_t kinds, uint64_t at, int error, int persistent) {
  g_at = at;
  g_error = error;
  g_persistent = persistent;
  atomic_store(&g_calls, 0);
  atomic_store(&g_kinds, kinds);
}

FAULTS_EXPORT uint64_t EpiphyteFaultsDisarm(void) {
  atomic_store(&g_kinds, 0);
  return atomic_load(&g_calls);
}

__attribute__((constructor)) static void ArmFromEnvironment(void) {
  const char* text = getenv("EPIPHYTE_FAULTS");
  unsigned kinds = 0;
  unsigned long long at = 0;
  int error = 0;
  if (text != NULL && sscanf(text, "%u:%llu:%d", &kinds, &at, &error) == 3) EpiphyteFaultsArm(kinds, at, error, 1);
}

static void Die(void) {
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

// Returns whether this call of `kind` is the one to fail. If so, errno is set.
static int IsHit(uint32_t kind) {
  if ((atomic_load_explicit(&g_kinds, memory_order_relaxed) & kind) == 0) return 0;
  const uint64_t call = atomic_fetch_add(&g_calls, 1) + 1;
  if (g_at == 0 || call < g_at || (call > g_at && !g_persistent)) return 0;
  if (g_error < 0) {
    if (call == g_at) syscall(SYS_kill, syscall(SYS_getpid), -g_error);
    return 0;
  }
  if (g_error == 0) return 1;
  errno = g_error;
  return 1;
}

static int Fails(uint32_t kind) {
  if (!IsHit(kind)) return 0;
  if (g_error == 0) Die();
  return 1;
}

FAULTS_EXPORT ssize_t write(int fd, const void* data, size_t size) {
  if (IsHit(kFaultWrite)) {
    if (g_error != 0) return -1;
    syscall(SYS_write, fd, data, size / 2);
    Die();
  }
  return syscall(SYS_write, fd, data, size);
}

FAULTS_EXPORT ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  if (Fails(kFaultWrite)) return -1;
  return syscall(SYS_pwrite64, fd, data, size, offset);
}
FAULTS_EXPORT ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  if (Fails(kFaultWrite)) return -1;
  return syscall(SYS_pwrite64, fd, data, size, offset);
}
FAULTS_EXPORT ssize_t writev(int fd, const struct iovec* pieces, int count) {
  if (Fails(kFaultWrite)) return -1;
  return syscall(SYS_writev, fd, pieces, count);
}

FAULTS_EXPORT int fsync(int fd) { return Fails(kFaultSync) ? -1 : (int)syscall(SYS_fsync, fd); }
FAULTS_EXPORT int fdatasync(int fd) { return Fails(kFaultSync) ? -1 : (int)syscall(SYS_fdatasync, fd); }

FAULTS_EXPORT int rename(const char* from, const char* to) {
  return Fails(kFaultRename) ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}
FAULTS_EXPORT int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return Fails(kFaultRename) ? -1 : (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
}
FAULTS_EXPORT int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return Fails(kFaultRename) ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}
FAULTS_EXPORT int link(const char* from, const char* to) {
  return Fails(kFaultRename) ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
FAULTS_EXPORT int unlink(const char* path) {
  return Fails(kFaultUnlink) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
FAULTS_EXPORT int flock(int fd, int operation) {
  return Fails(kFaultLock) ? -1 : (int)syscall(SYS_flock, fd, operation);
}

FAULTS_EXPORT void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (Fails(kFaultMap)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}
FAULTS_EXPORT void* mmap64(void* address, size_t size, int protection, int flags, int fd, off64_t offset) {
  if (Fails(kFaultMap)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

static int OpenAt(int folder, const char* path, int flags, mode_t mode) {
  return Fails(kFaultOpen) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

// Returns the mode argument, which follows the flags of a call that creates a file.
static mode_t ModeFor(int flags, va_list rest) {
  const int creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(rest, mode_t) : 0;
}

FAULTS_EXPORT int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeFor(flags, rest);
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
FAULTS_EXPORT int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeFor(flags, rest);
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
FAULTS_EXPORT int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeFor(flags, rest);
  va_end(rest);
  return OpenAt(folder, path, flags, mode);
}
FAULTS_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeFor(flags, rest);
  va_end(rest);
  return OpenAt(folder, path, flags, mode);
}

FAULTS_EXPORT void* malloc(size_t size) { return Fails(kFaultMemory) ? NULL : __libc_malloc(size); }
FAULTS_EXPORT void* calloc(size_t count, size_t size) {
  return Fails(kFaultMemory) ? NULL : __libc_calloc(count, size);
}
FAULTS_EXPORT void* realloc(void* old, size_t size) { return Fails(kFaultMemory) ? NULL : __libc_realloc(old, size); }
FAULTS_EXPORT void* memalign(size_t alignment, size_t size) {
  return Fails(kFaultMemory) ? NULL : __libc_memalign(alignment, size);
}
FAULTS_EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  return Fails(kFaultMemory) ? NULL : __libc_memalign(alignment, size);
}
FAULTS_EXPORT int posix_memalign(void** result, size_t alignment, size_t size) {
  if (Fails(kFaultMemory)) return ENOMEM;
  void* memory = __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *result = memory;
  return 0;
}
