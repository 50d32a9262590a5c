// A graph of the IR as a model of its own.
#pragma once

#include "core/graph/graph.h"
#include "core/onnx/model_writer.h"

namespace epiphyte::core {

// WriteModel with nothing around the graph, and the oldest IR version that has all that its opset may hold. Throws
// INVALID_ARGUMENT for a graph that reads values of an enclosing one.
void WriteGraphAsModel(const Graph& graph, const WriteOptions& options, const ByteSink& sink);

}  // namespace epiphyte::core
