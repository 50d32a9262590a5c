// Functions that the hostile SDK exports beside nsdk_get_api. They tell a test how the SDK was used.
#pragma once

#include <cstdint>

#include "plugins/npu/sdk/include/nsdk.h"

#pragma GCC visibility push(default)
extern "C" {

// Number of calls of a function of the table, by its name in NsdkApi.
uint64_t hostile_sdk_calls(const char* function);

// The last binding in any execution; zeros: nothing was bound.
struct HostileBinding {
  const void* address;
  uint64_t size;
  bool is_imported;  // as memory of the device, where the host has it
};
HostileBinding hostile_sdk_binding(uint32_t direction, uint32_t index);

}  // extern "C"
#pragma GCC visibility pop
