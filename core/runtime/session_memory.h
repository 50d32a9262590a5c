// SessionMemory: the memories of the devices that a session uses. It can't take values in other memories.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device_memory.h"

namespace epiphyte::core {

// One such memory, and the session's account of its values there.
struct SessionMemory {
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<DeviceAccount> account;
};

// Text for messages: "'arena' of test_device device 0".
std::string MemoryText(const DeviceMemory& memory);
std::string MemoryText(const std::vector<SessionMemory>& memories);  // texts of all memories, with commas between them

// Throws INVALID_ARGUMENT when `memory` belongs to a device that a session with `memories` doesn't use. `what` comes
// before it in the message: "input 'x' is in", "output 'y' is bound to".
void RequireUsed(const std::vector<SessionMemory>& memories, const DeviceMemory& memory, std::string_view what);

}  // namespace epiphyte::core
