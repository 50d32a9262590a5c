// When each command begins and ends, and what that adds up to. Three queues work in order, side by side; a command
// begins when the one before it in its queue has ended, when the tokens it waits for are given, and, if it moves data,
// when the one DMA port is free: the port takes requests in the order in which they become ready, loads before stores.
// A queue asks for its next transfer while the last one still moves, so that latency shows only where nothing hides it.
//
//   Timeline timeline = Simulate(program, config);
//   timeline.counters.npu_total_cycles;
//   timeline.spans[i].begin;                      // of command i
//
// A pure function of commands and device: no clock, no state.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plugins/npu/simulator/isa/command.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

// Of one run. Active: cycles in which at least one queue works; idle: the others, which only latency leaves. Stalls are
// cycles in which the execute queue has work left but waits: for a token of the load or the store queue whose transfer
// is under way (dma), or for what is computed elsewhere (dependency).
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
  uint64_t begin = 0;  // of a transfer: when its first byte moves
  uint64_t end = 0;
};

struct Timeline {
  CycleCounters counters;
  std::vector<Span> spans;  // of the commands, in their order
};

// The program has passed Verify().
Timeline Simulate(std::span<const Command> program, const Config& config);

// npu_total_cycles alone, quickly: what the compiler's search compares. tick is called now and then, and may throw to
// stop.
uint64_t TotalCycles(std::span<const Command> program, const Config& config, const std::function<void()>& tick = {});

}  // namespace epiphyte::npusim
