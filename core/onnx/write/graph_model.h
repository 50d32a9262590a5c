// Writes a graph of the IR as a separate model.
#pragma once

#include "core/graph/graph.h"
#include "core/onnx/write/model_writer.h"

namespace epiphyte::core {

// Calls WriteModel for the graph alone, with the oldest IR version that supports everything that its opset may contain.
// Throws INVALID_ARGUMENT for a graph that reads values of an enclosing graph.
void WriteGraphAsModel(const Graph& graph, const WriteOptions& options, const ByteSink& sink);

}  // namespace epiphyte::core
