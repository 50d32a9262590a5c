/* A plugin of ABI 0.1: its query takes the host alone and answers null to a host that doesn't offer 0.1. Its descriptor
 * has the layout of 0.1. With ANSWERS_ANYBODY it does not check the host's version, as careless plugins did. */
#include <stddef.h>
#include <stdint.h>

struct Host01 {
  uint32_t struct_size, abi_min, abi_max, reserved;
};

struct Descriptor01 {
  uint32_t struct_size, abi_version;
  const char *name, *vendor, *version;
  const char* const* sources;
  uint32_t source_count, reserved;
  void* (*functions[6])(void*);
};

/* A call of any of these functions shows that the host misread the descriptor. */
static void* Crash(void* anything) {
  (void)anything;
  __builtin_trap();
}

static const char* const sources[] = {"MisbehavingSource"};
static const struct Descriptor01 descriptor = {sizeof(struct Descriptor01),
                                               1,
                                               "misbehaving",
                                               "tests",
                                               "1.0.0",
                                               sources,
                                               1,
                                               0,
                                               {Crash, Crash, Crash, Crash, Crash, Crash}};

__attribute__((visibility("default"))) const struct Descriptor01* EpPluginQuery(const struct Host01* host);
__attribute__((visibility("default"))) const struct Descriptor01* EpPluginQuery(const struct Host01* host) {
#ifndef ANSWERS_ANYBODY
  if (host == NULL || host->abi_min > 1 || host->abi_max < 1) return NULL;
#else
  (void)host;
#endif
  return &descriptor;
}
