// Guesses the kind of a file that is no ONNX model, for error messages.
#pragma once

#include <string_view>

namespace epiphyte::core {

// "a PyTorch checkpoint or another zip archive"; empty when nothing is recognised.
std::string_view GuessFileKind(std::string_view bytes);

// Throws INVALID_GRAPH when the bytes are a Git LFS pointer. `what` names the file: "external data file 'w.bin'".
void RefuseLfsPointer(std::string_view bytes, std::string_view what);

}  // namespace epiphyte::core
