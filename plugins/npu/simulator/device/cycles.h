// Computes when each command begins and ends, and sums up the counters. Three queues work in order, side by side. A
// command begins when the one before it in its queue has ended and the tokens that it waits for are given. A transfer
// also needs the one DMA port. The port serves requests in the order in which they become ready, loads before stores. A
// queue requests its next transfer while the last one still moves, so latency shows only if nothing hides it.
//
//   Timeline timeline = Simulate(program, config);
//   timeline.counters.npu_total_cycles;
//   timeline.spans[i].begin;                      // of command i
//
// The result is a pure function of commands and device: there is no clock and no state.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plugins/npu/simulator/isa/command.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

// Counters of one run. In active cycles at least one queue works; the others are idle cycles, which only latency
// causes. Stalls are cycles in which the execute queue has work left but waits. It waits for the token of a transfer
// under way in the load or store queue (dma), or for computation elsewhere (dependency).
struct CycleCounters {
  uint64_t npu_active_cycles = 0;
  uint64_t npu_idle_cycles = 0;
  uint64_t npu_total_cycles = 0;
  uint64_t axi_read_beats = 0;
  uint64_t axi_write_beats = 0;
  uint64_t axi_beat_bytes = 0;
  uint64_t macs = 0;
  uint64_t mac_active_cycles = 0;
  uint64_t stall_dma_cycles = 0;
  uint64_t stall_dependency_cycles = 0;
  uint64_t scratchpad_peak = 0;  // bytes from the scratchpad's begin to the last one used

  friend bool operator==(const CycleCounters&, const CycleCounters&) = default;
};

struct Span {
  uint64_t begin = 0;  // transfers: when the first byte moves
  uint64_t end = 0;
};

struct Timeline {
  CycleCounters counters;
  std::vector<Span> spans;  // one per command, in order
};

// The program must have passed Verify().
Timeline Simulate(std::span<const Command> program, const Config& config);

// Only npu_total_cycles, computed quickly for the compiler's search. `tick` is called from time to time and may throw
// to stop.
uint64_t TotalCycles(std::span<const Command> program, const Config& config, const std::function<void()>& tick = {});

}  // namespace epiphyte::npusim
