// Partitions: compiles a host graph as a graph of nsdk.h.
//
//   ir::Graph graph = ir::Import(host, partition.graph.handle(), name);
//   const auto partition = CompilePartition(context, graph, task);   // throws kit::Declined
//   const std::vector<std::byte> blob = BlobOf({partition});
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/npu/client/blob_info.h"
#include "plugins/npu/client/context.h"
#include "plugins/npu/graph/quantized_op.h"

namespace epiphyte::npu {

// A compiled partition of a session. In a share group it waits until the last session writes the blob.
struct NpuPartition {
  std::string name;
  std::unique_ptr<const Compiled> compiled;
  std::vector<Port> inputs, outputs;  // in the partition's order
};

// The quantized ops of a partition's graph in an execution order. In the graph of `editor`, each unit must have
// separate DequantizeLinear nodes. Throws Refused for a node that is in no op.
std::vector<QuantizedOp> OpsOfPartition(const ir::Editor& editor, const Meanings& meanings);

// Changes the graph; its constants stay. Throws as GiveBack does.
std::shared_ptr<const NpuPartition> CompilePartition(std::shared_ptr<const SdkContext> context, ir::Graph& graph,
                                                     const kit::Task& task);

// Handles a failure before any run: throws kit::Declined, so that another provider gets the partition. It doesn't
// decline if the task was cancelled or the device is lost.
void GiveBack(const kit::Error& error);

// One blob of several partitions, in their order.
std::vector<std::byte> BlobOf(const std::vector<std::shared_ptr<const NpuPartition>>& partitions);

}  // namespace epiphyte::npu
