// What waits for what: found from the bytes that commands read and write, so that every order which the queues allow
// gives the same as executing the list from its first command to its last.
//
//   AssignTokens(program);       // sets wait of every command
//
// tick is called now and then, and may throw to stop.
#pragma once

#include <functional>
#include <span>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

void AssignTokens(std::span<Command> program, const std::function<void()>& tick = {});

}  // namespace epiphyte::npusim
