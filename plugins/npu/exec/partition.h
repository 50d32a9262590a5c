// Partitions: from the host's graph to one of nsdk.h, compiled.
//
//   ir::Graph graph = ir::Import(host, partition.graph.handle(), name);
//   const NpuPartition compiled = CompilePartition(context, graph, task);   // throws kit::Declined
//   compiled.blob();
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/npu/client/blob_info.h"
#include "plugins/npu/client/context.h"
#include "plugins/npu/graph/quantized_op.h"

namespace epiphyte::npu {

// What was compiled in a session; what waits in a share group for the last one to write it.
struct NpuPartition {
  std::string name;
  std::unique_ptr<const Compiled> compiled;
  std::vector<Port> inputs, outputs;  // in the partition's order
};

// The works of a partition's graph in an order in which they can run. `editor` sees a graph in which every unit has its
// DequantizeLinear nodes for itself. Throws Refused for a node that is in none.
std::vector<QuantizedOp> OpsOfPartition(const ir::Editor& editor, const Meanings& meanings);

// Changes the graph, whose constants stay. Throws as GiveBack.
std::shared_ptr<const NpuPartition> CompilePartition(std::shared_ptr<const SdkContext> context, ir::Graph& graph,
                                                     const kit::Task& task);

// For what fails before anything has run: throws kit::Declined, so that another provider has the partition, unless
// somebody wanted the end, or the device is lost.
void GiveBack(const kit::Error& error);

// The blob of several, in their order.
std::vector<std::byte> BlobOf(const std::vector<std::shared_ptr<const NpuPartition>>& partitions);

}  // namespace epiphyte::npu
