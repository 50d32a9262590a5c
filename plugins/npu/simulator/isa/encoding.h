// Commands as they stand in a blob: little-endian 32-bit words. The first word of a command has its opcode (byte 0),
// its queue (byte 1) and how many words it has (upper half); then come op, the three waits, and the fields of its
// struct in their order. A command of an opcode always has the same number of words.
//
//   std::vector<std::byte> stream;   for (const Command& c : program) Encode(c, stream);
//   std::vector<Command> program = Decode(stream);        // throws BadProgram: hostile bytes are fine
//   Verify(program, config, regions);                     // ... and whatever a command could read or write beyond
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

// what() has one line with the command's number.
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

// That every command is in a queue that has it, waits only for tokens given earlier in the list, has parameters in
// their ranges, and reads and writes within scratchpad, accumulators and regions. Nothing is executed that didn't pass.
// tick is called now and then, and may throw to stop.
void Verify(std::span<const Command> program, const Config& config, const RegionSizes& regions,
            const std::function<void()>& tick = {});

}  // namespace epiphyte::npusim
