// SessionMemory: the memories of the devices that a session uses. Values in others it can't take.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device_memory.h"

namespace epiphyte::core {

// One of them, and what the session's values may have of it.
struct SessionMemory {
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<DeviceAccount> account;
};

// "'arena' of test_device device 0"
std::string MemoryText(const DeviceMemory& memory);
std::string MemoryText(const std::vector<SessionMemory>& memories);  // with commas between them

// Throws INVALID_ARGUMENT when `memory` is of a device that a session with `memories` doesn't use; `what` stands before
// it in the message: "input 'x' is in", "output 'y' is bound to".
void RequireUsed(const std::vector<SessionMemory>& memories, const DeviceMemory& memory, std::string_view what);

}  // namespace epiphyte::core
