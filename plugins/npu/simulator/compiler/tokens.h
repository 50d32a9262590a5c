// Computes dependencies from the bytes that commands read and write. Every order that the queues allow gives the same
// results as executing the list from its first command to its last.
//
//   AssignTokens(program);       // sets wait of every command
//
// `tick` is called from time to time and may throw to stop.
#pragma once

#include <functional>
#include <span>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

void AssignTokens(std::span<Command> program, const std::function<void()>& tick = {});

}  // namespace epiphyte::npusim
