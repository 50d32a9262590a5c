// ep.onnx/1 of the debug host: an extension, which a plugin need not use.
#pragma once

namespace epiphyte::conformance {

// The plugin has asked for a graph as ONNX in this process.
bool GraphsWereWritten();

}  // namespace epiphyte::conformance
