// Compiles a graph to commands for the simulated NPU.
//
//   CheckOp(nsdk_graph, op, config);                       // throws Unsupported: the NPU doesn't have that operator
//   CompiledGraph compiled = Compile(nsdk_graph, {.config = config, .effort = Effort::kExhaustive});
//   std::vector<std::byte> blob = WriteBlob(config, std::array{&compiled}, version);       // blob/blob.h
//
// Operators are lowered to layers (layer.h), each of which can be tiled in many ways. A tensor between layers lies in
// external scratch memory, or stays in the scratchpad from the layer that writes it to the last one that reads it
// (plan.h). Image tensors have channels last, in bricks of as many channels as the array has columns. Dependencies
// follow from the bytes that commands read and write (tokens.h). The search compares cycles of the device's own model.
//
// Effort: fast takes each layer's first tiling that fits; balanced takes the best one by an estimate. Exhaustive runs
// candidates through device/cycles.h, and tries which tensors should stay in the scratchpad.
//
// Equal graphs and options give equal bytes: nothing depends on time, addresses or threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plugins/npu/simulator/blob/blob.h"
#include "plugins/npu/simulator/compiler/effort.h"
#include "plugins/npu/simulator/graph/graph.h"

namespace epiphyte::npusim {

struct CompileOptions {
  Config config;
  Effort effort = Effort::kBalanced;
  bool fusion = true;  // false: each operator is computed by itself, through external memory
  // Called often, on the caller's thread, with the part done, 0 to 1, which never falls. Return false to stop.
  std::function<bool(double done, const std::string& text)> progress = {};
};

// Thrown when `progress` returned false.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("compiling was cancelled") {}
};

// Throws InvalidGraph, Unsupported, Cancelled.
CompiledGraph Compile(const NsdkGraph& graph, const CompileOptions& options);

// Throws InvalidGraph or Unsupported unless Compile accepts this operator. Constants needn't have data.
void CheckOp(const NsdkGraph& graph, uint32_t op, const Config& config);

}  // namespace epiphyte::npusim
