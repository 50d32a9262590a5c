// What the hostile SDK tells a test of how it was used, by functions that it exports beside nsdk_get_api.
#pragma once

#include <cstdint>

#include "plugins/npu/sdk/include/nsdk.h"

#pragma GCC visibility push(default)
extern "C" {

// How often a function of the table was called, by its name in NsdkApi.
uint64_t hostile_sdk_calls(const char* function);

// What was last bound, in any execution; zeros: nothing was.
struct HostileBinding {
  const void* address;
  uint64_t size;
  bool is_imported;  // as memory of the device, where the host has it
};
HostileBinding hostile_sdk_binding(uint32_t direction, uint32_t index);

}  // extern "C"
#pragma GCC visibility pop
