// Duration of one command: a pure function of command and device, shared by the compiler's search and the cycle
// simulation (device/cycles.h). The array is weight stationary. A fold is `rows` input channels by `columns` output
// channels of one kernel position. Pixels stream over it, one per cycle, while the next fold's weights move in.
//
//   uint64_t cycles = ExecuteCycles(conv, config);
//   TransferCost load = CostOf(transfer, config);    // its latency hides behind the transfer before it
//
// A tile of oh x ow x oc from ic channels with a kh x kw kernel takes kh * kw * ceil(ic / rows) * ceil(oc / columns) *
// (max(oh * ow, rows) + fold_overhead) + rows + columns - 2 cycles. So channel 17 of an array with 16 costs a whole
// fold.
#pragma once

#include <cstdint>

#include "plugins/npu/simulator/isa/command.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

struct TransferCost {
  uint64_t beats = 0;  // beats of config.axi_bytes; each run that is contiguous in external memory takes whole beats
  uint64_t port_cycles = 0;  // cycles for which the port is busy with the transfer
};
TransferCost CostOf(const Transfer& transfer, const Config& config);

// Cycles of a command that executes on chip (all but LOAD and STORE).
uint64_t ExecuteCycles(const QuantizedOp& work, const Config& config);

struct MacCount {
  uint64_t macs = 0;           // requested multiplications
  uint64_t active_cycles = 0;  // cycles in which the array (or its depthwise lanes) multiplies
};
MacCount MacsOf(const QuantizedOp& work, const Config& config);

}  // namespace epiphyte::npusim
