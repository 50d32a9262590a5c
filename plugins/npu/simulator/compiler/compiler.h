// From a graph to commands for the simulated NPU.
//
//   CheckOp(nsdk_graph, op, config);                       // throws Unsupported: the NPU doesn't have that operator
//   CompiledGraph compiled = Compile(nsdk_graph, {.config = config, .effort = Effort::kExhaustive});
//   std::vector<std::byte> blob = WriteBlob(config, std::array{&compiled}, version);       // blob/blob.h
//
// How: operators are lowered to layers (layer.h), each of which can be cut into tiles in many ways. Tensors between
// them lie in external scratch memory, image tensors with channels last, in bricks of as many channels as the array has
// columns, or stay in the scratchpad from the layer that makes them to the last one that reads them (plan.h). What
// waits for what is found from what commands read and write (tokens.h). The search compares cycles of the device's own
// model.
//
// Effort. Fast takes the first tiling of each layer that fits, balanced the best by an estimate, exhaustive runs
// candidates through device/cycles.h and tries which tensors had better stay in the scratchpad.
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
  bool fusion = true;  // false: each operator by itself, through external memory
  // Called often, on the caller's thread, with a part done that never falls. False: stop.
  std::function<bool(double done, const std::string& text)> progress = {};
};

// progress said so.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("compiling was cancelled") {}
};

// Throws InvalidGraph, Unsupported, Cancelled.
CompiledGraph Compile(const NsdkGraph& graph, const CompileOptions& options);

// Whether Compile takes this operator. Constants needn't have data. Throws InvalidGraph, Unsupported.
void CheckOp(const NsdkGraph& graph, uint32_t op, const Config& config);

}  // namespace epiphyte::npusim
