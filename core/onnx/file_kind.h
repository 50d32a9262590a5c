// What a file that is no ONNX model probably is, for error messages.
#pragma once

#include <string_view>

namespace epiphyte::core {

// "a PyTorch checkpoint or another zip archive"; empty when nothing is recognised.
std::string_view GuessFileKind(std::string_view bytes);

}  // namespace epiphyte::core
