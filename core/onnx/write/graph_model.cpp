#include "core/onnx/write/graph_model.h"

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

// Opset and IR version as paired by the ONNX releases.
int64_t IrVersionFor(int64_t opset) {
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  return opset - 12;  // 11 for opset 23, then one more per opset
}

}  // namespace

void WriteGraphAsModel(const Graph& graph, const WriteOptions& options, const ByteSink& sink) {
  for (const auto& value : graph.values()) {
    if (value && value->IsOuterScope()) {
      Fail(StatusCode::kInvalidArgument,
           "graph '{}' reads '{}' of the graph around it, so it is no model by itself; write the partition that holds "
           "its node",
           graph.name(), value->name());
    }
  }
  Model model;
  model.ir_version = IrVersionFor(graph.Opset(""));
  model.graph = graph.Clone();
  WriteModel(model, options, sink);
}

}  // namespace epiphyte::core
