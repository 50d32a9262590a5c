// Functions that the hostile SDK exports in addition to nsdk_get_api. They tell a test how the SDK was used.
#pragma once

#include <cstdint>

#include "plugins/npu/sdk/include/nsdk.h"

#pragma GCC visibility push(default)
extern "C" {

// Returns the number of calls of a function of the table, by its name in NsdkApi.
uint64_t hostile_sdk_calls(const char* function);

// Returns the last binding in any execution; all fields are zero if nothing was bound.
struct HostileBinding {
  const void* address;
  uint64_t size;
  bool is_imported;  // the SDK imported the host's memory
};
HostileBinding hostile_sdk_binding(uint32_t direction, uint32_t index);

}  // extern "C"
#pragma GCC visibility pop
