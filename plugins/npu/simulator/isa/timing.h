// How long one command takes: a pure function of command and device, which the compiler's search and the cycle
// simulation (device/cycles.h) share. The array is weight stationary: `rows` input channels by `columns` output
// channels of one kernel position are a fold, over which the pixels stream, one a cycle, while the next fold's weights
// move in.
//
//   uint64_t cycles = ExecuteCycles(conv, config);
//   TransferCost load = CostOf(transfer, config);    // of which latency hides behind the transfer before it
//
// A tile of oh x ow x oc from ic channels with a kh x kw kernel so takes kh * kw * ceil(ic / rows) * ceil(oc / columns)
// * (max(oh * ow, rows) + fold_overhead) + rows + columns - 2 cycles: channels 17 of 16 cost a whole fold.
#pragma once

#include <cstdint>

#include "plugins/npu/simulator/isa/command.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

struct TransferCost {
  uint64_t beats = 0;        // of config.axi_bytes: each run of bytes contiguous outside is rounded up to whole beats
  uint64_t port_cycles = 0;  // that the port is busy with it
};
TransferCost CostOf(const Transfer& transfer, const Config& config);

// Of what executes on chip (all but LOAD and STORE).
uint64_t ExecuteCycles(const QuantizedOp& work, const Config& config);

struct MacCount {
  uint64_t macs = 0;           // multiplications asked for
  uint64_t active_cycles = 0;  // cycles in which the array (or its depthwise lanes) multiplies
};
MacCount MacsOf(const QuantizedOp& work, const Config& config);

}  // namespace epiphyte::npusim
