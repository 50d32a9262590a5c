// Finds commands that overlap in time on memory that one of them writes: what the tokens leave unordered. A compiler's
// program must have none: its results would depend on how fast which queue is. Looks at order, not at one timing: two
// commands are ordered when a chain of queue order and tokens leads from one to the other.
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

// Byte by byte: the gaps of strided accesses belong to nobody. Takes 20 bytes for each byte of memory. The program has
// passed Verify().
std::optional<Race> FindRace(std::span<const Command> program);

}  // namespace epiphyte::npusim
