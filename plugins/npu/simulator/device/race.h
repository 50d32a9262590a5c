// Finds commands that access the same memory, one of them writing, and that the tokens leave unordered. A compiler's
// program must have none, because results would depend on the speed of the queues. The check is about order, not about
// one timing: two commands are ordered if a chain of queue order and tokens leads from one to the other.
//
//   if (std::optional<Race> race = FindRace(program)) ...     // tests, and npusim check
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

struct Race {
  size_t first = 0;  // commands of the program
  size_t second = 0;
  std::string what;  // one line
};

// The check is byte by byte, so gaps of strided accesses don't count. It takes 20 bytes for each byte of memory. The
// program must have passed Verify().
std::optional<Race> FindRace(std::span<const Command> program);

}  // namespace epiphyte::npusim
