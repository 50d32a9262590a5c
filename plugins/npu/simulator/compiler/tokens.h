// What waits for what: found from the bytes that commands read and write, so that every order which the queues allow
// gives the same as executing the list from its first command to its last.
//
//   AssignTokens(program);       // sets wait of every command
#pragma once

#include <span>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

void AssignTokens(std::span<Command> program);

}  // namespace epiphyte::npusim
