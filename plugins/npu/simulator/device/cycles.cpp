#include "plugins/npu/simulator/device/cycles.h"

#include <algorithm>
#include <array>
#include <limits>

#include "plugins/npu/simulator/isa/footprint.h"
#include "plugins/npu/simulator/isa/timing.h"

namespace epiphyte::npusim {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

const Transfer* TransferOf(const QuantizedOp& work) {
  if (const auto* load = std::get_if<LoadCommand>(&work)) return load;
  return std::get_if<StoreCommand>(&work);
}

class Simulation {
 public:
  Simulation(std::span<const Command> program, const Config& config) : program_(program), config_(config) {
    timeline_.spans.resize(program.size());
    for (size_t i = 0; i < program.size(); ++i) queues_[program[i].queue].commands.push_back(i);
  }

  Timeline Run() {
    Schedule({});
    Count();
    return std::move(timeline_);
  }

  uint64_t Total(const std::function<void()>& tick) {
    Schedule(tick);
    uint64_t total = 0;
    for (const State& queue : queues_) total = std::max(total, queue.free);
    return total;
  }

 private:
  struct State {
    std::vector<size_t> commands;  // indices in the program
    size_t next = 0;
    uint64_t free = 0;     // cycle at which the last command ended
    uint64_t may_ask = 0;  // cycle from which the next transfer may be requested: the previous one then moves
    std::vector<uint64_t> ends;
  };

  void Schedule(const std::function<void()>& tick) {
    // Some queue can always go on, because the list's own order satisfies the tokens. Among those that can, the queue
    // with the earliest ready command goes next, because it gets the port.
    for (size_t done = 0; done < program_.size(); ++done) {
      if (tick && done % 4096 == 0) tick();
      Queue next = kLoad;
      uint64_t earliest = kNever;
      for (const Queue q : {kLoad, kStore, kExecute}) {
        const uint64_t ready = ReadyAt(q);
        if (ready < earliest) {
          earliest = ready;
          next = q;
        }
      }
      Start(next, earliest);
    }
  }

  // Cycle at which the command's tokens are given; kNever if some are not known yet.
  uint64_t TokensAt(const Command& command) const {
    uint64_t at = 0;
    for (int q = 0; q < kQueueCount; ++q) {
      if (command.wait[q] == 0) continue;
      if (queues_[q].ends.size() < command.wait[q]) return kNever;
      at = std::max(at, queues_[q].ends[command.wait[q] - 1]);
    }
    return at;
  }

  // Cycle at which the next command is ready, regardless of the port.
  uint64_t ReadyAt(Queue q) const {
    const State& queue = queues_[q];
    if (queue.next == queue.commands.size()) return kNever;
    const Command& command = program_[queue.commands[queue.next]];
    const uint64_t tokens = TokensAt(command);
    if (tokens == kNever) return kNever;
    if (TransferOf(command.work) == nullptr) return std::max(tokens, queue.free);
    return std::max(std::max(tokens, queue.may_ask) + config_.dma_latency, queue.free);
  }

  void Start(Queue q, uint64_t ready) {
    State& queue = queues_[q];
    const size_t index = queue.commands[queue.next++];
    const Command& command = program_[index];
    Span& span = timeline_.spans[index];
    if (const Transfer* transfer = TransferOf(command.work)) {
      const TransferCost cost = CostOf(*transfer, config_);
      span.begin = std::max(ready, port_free_);
      span.end = span.begin + cost.port_cycles;
      port_free_ = span.end;
      queue.may_ask = span.begin;
      (q == kLoad ? timeline_.counters.axi_read_beats : timeline_.counters.axi_write_beats) += cost.beats;
    } else {
      span.begin = ready;
      span.end = ready + ExecuteCycles(command.work, config_);
      queue.may_ask = span.end;
      if (q == kExecute) CountStall(command, queue.free, ready);
    }
    queue.free = span.end;
    queue.ends.push_back(span.end);
  }

  // Divides the cycles for which the execute queue waits. Those until the end of the last transfer that it waits for
  // are DMA stalls, the others are dependency stalls.
  void CountStall(const Command& command, uint64_t free, uint64_t begin) {
    if (begin <= free) return;
    uint64_t transfers = free;
    for (const Queue q : {kLoad, kStore}) {
      const uint32_t token = command.wait[q];
      if (token == 0) continue;
      if (TransferOf(program_[queues_[q].commands[token - 1]].work) == nullptr) continue;
      transfers = std::max(transfers, queues_[q].ends[token - 1]);
    }
    transfers = std::min(transfers, begin);
    timeline_.counters.stall_dma_cycles += transfers - free;
    timeline_.counters.stall_dependency_cycles += begin - transfers;
  }

  void Count() {
    CycleCounters& counters = timeline_.counters;
    counters.axi_beat_bytes = config_.axi_bytes;
    for (const Command& command : program_) {
      const MacCount macs = MacsOf(command.work, config_);
      counters.macs += macs.macs;
      counters.mac_active_cycles += macs.active_cycles;
      ForEachAccess(command.work, [&](const Access& access) {
        if (access.space != Space::kScratchpad) return;
        counters.scratchpad_peak = std::max(counters.scratchpad_peak, static_cast<uint64_t>(access.End()));
      });
    }
    std::vector<Span> spans = timeline_.spans;
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    uint64_t covered = 0;  // end of the covered cycles
    for (const Span& span : spans) {
      if (span.end <= covered) continue;
      counters.npu_active_cycles += span.end - std::max(span.begin, covered);
      covered = span.end;
    }
    counters.npu_total_cycles = covered;
    counters.npu_idle_cycles = covered - counters.npu_active_cycles;
  }

  std::span<const Command> program_;
  const Config& config_;
  std::array<State, kQueueCount> queues_;
  uint64_t port_free_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline Simulate(std::span<const Command> program, const Config& config) { return Simulation(program, config).Run(); }

uint64_t TotalCycles(std::span<const Command> program, const Config& config, const std::function<void()>& tick) {
  return Simulation(program, config).Total(tick);
}

}  // namespace epiphyte::npusim
