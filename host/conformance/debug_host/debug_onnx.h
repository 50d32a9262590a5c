// ep.onnx/1 of the debug host. A plugin need not use this extension.
#pragma once

namespace epiphyte::conformance {

// Returns whether the plugin has requested a graph as ONNX in this process.
bool GraphsWereWritten();

}  // namespace epiphyte::conformance
