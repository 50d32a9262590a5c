// Encoding of commands in a blob: little-endian 32-bit words. A command's first word has its opcode (byte 0), its queue
// (byte 1) and its number of words (upper half). Then come op, the three waits, and the fields of its struct in their
// order. The number of words depends only on the opcode.
//
//   std::vector<std::byte> stream;   for (const Command& c : program) Encode(c, stream);
//   std::vector<Command> program = Decode(stream);        // throws BadProgram: hostile bytes are fine
//   Verify(program, config, regions);                     // ... and so are accesses out of bounds
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "plugins/npu/simulator/isa/command.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

// what() returns one line with the command's number.
class BadProgram : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void Encode(const Command& command, std::vector<std::byte>& stream);
std::vector<Command> Decode(std::span<const std::byte> stream);

// Sizes in bytes of the external regions.
struct RegionSizes {
  uint64_t weights = 0;
  uint64_t scratch = 0;
  std::vector<uint64_t> inputs;
  std::vector<uint64_t> outputs;
};

// Verifies that every command is in a queue that supports it and waits only for tokens given earlier in the list. Its
// parameters must be in range, and it must read and write only within scratchpad, accumulators and regions. Only
// verified programs are executed. `tick` is called from time to time and may throw to stop.
void Verify(std::span<const Command> program, const Config& config, const RegionSizes& regions,
            const std::function<void()>& tick = {});

}  // namespace epiphyte::npusim
