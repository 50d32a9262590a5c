#include "core/runtime/session_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"

namespace epiphyte::core {

std::string MemoryText(const DeviceMemory& memory) {
  return fmt::format("'{}' of {} device {}", memory.name(), memory.plugin().name, memory.device());
}

std::string MemoryText(const std::vector<SessionMemory>& memories) {
  std::string text;
  for (const SessionMemory& memory : memories) {
    if (!text.empty()) text += ", ";
    text += MemoryText(*memory.memory);
  }
  return text;
}

void RequireUsed(const std::vector<SessionMemory>& memories, const DeviceMemory& memory, std::string_view what) {
  const bool is_used = std::ranges::any_of(memories, [&](const SessionMemory& used) {
    return &used.memory->plugin() == &memory.plugin() && used.memory->device() == memory.device();
  });
  if (is_used) return;
  if (memories.empty()) {
    Fail(StatusCode::kInvalidArgument,
         "{} memory {}, but no provider of the session has memory of its own; use host memory", what,
         MemoryText(memory));
  }
  Fail(StatusCode::kInvalidArgument,
       "{} memory {}, which the session doesn't use; use host memory or one of the session's: {}", what,
       MemoryText(memory), MemoryText(memories));
}

}  // namespace epiphyte::core
