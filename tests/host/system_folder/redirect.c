/* For LD_PRELOAD: a program sees the folder that EPIPHYTE_TEST_SYSTEM_FOLDER names instead of /etc/epiphyte, so that
 * tests can have a system's policy file without changing the machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const char* Redirect(const char* path, char* buffer) {
  static const char kFolder[] = "/etc/epiphyte";
  const char* folder = getenv("EPIPHYTE_TEST_SYSTEM_FOLDER");
  const size_t length = sizeof kFolder - 1;
  if (folder == NULL || path == NULL || strncmp(path, kFolder, length) != 0) return path;
  if (path[length] != '\0' && path[length] != '/') return path;
  const int written = snprintf(buffer, PATH_MAX, "%s%s", folder, path + length);
  return written > 0 && written < PATH_MAX ? buffer : path;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

EXPORT int stat(const char* path, struct stat* info) {
  char buffer[PATH_MAX];
  return NEXT(stat)(Redirect(path, buffer), info);
}
EXPORT int lstat(const char* path, struct stat* info) {
  char buffer[PATH_MAX];
  return NEXT(lstat)(Redirect(path, buffer), info);
}
EXPORT int stat64(const char* path, struct stat64* info) {
  char buffer[PATH_MAX];
  return NEXT(stat64)(Redirect(path, buffer), info);
}
EXPORT int lstat64(const char* path, struct stat64* info) {
  char buffer[PATH_MAX];
  return NEXT(lstat64)(Redirect(path, buffer), info);
}
EXPORT char* realpath(const char* path, char* resolved) {
  char buffer[PATH_MAX];
  return NEXT(realpath)(Redirect(path, buffer), resolved);
}

static int Mode(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
}

EXPORT int open(const char* path, int flags, ...) {
  char buffer[PATH_MAX];
  va_list arguments;
  va_start(arguments, flags);
  const int mode = Mode(flags, arguments);
  va_end(arguments);
  return NEXT(open)(Redirect(path, buffer), flags, mode);
}
EXPORT int open64(const char* path, int flags, ...) {
  char buffer[PATH_MAX];
  va_list arguments;
  va_start(arguments, flags);
  const int mode = Mode(flags, arguments);
  va_end(arguments);
  return NEXT(open64)(Redirect(path, buffer), flags, mode);
}
