// A run's timeline as Chrome trace events, which Perfetto and chrome://tracing open. It has a row for each queue and a
// slice for each command, named after its operator. One cycle is shown as one microsecond.
//
//   std::ofstream file("run.json");
//   WriteTrace(file, {{"main", program, op_names, Simulate(program, config)}});
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "plugins/npu/simulator/device/cycles.h"
#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

struct TracedGraph {
  std::string name;
  std::span<const Command> program;
  std::span<const std::string> op_names;  // by Command::op
  Timeline timeline;
};

// Each graph is a process of the trace, with its own cycles from 0.
void WriteTrace(std::ostream& out, std::span<const TracedGraph> graphs);

}  // namespace epiphyte::npusim
