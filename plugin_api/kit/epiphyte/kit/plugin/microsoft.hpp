// Operators of com.microsoft that providers compute as they are, and that no function of ONNX's operators stands for,
// as a plugin describes them (schema.hpp). Their signatures are the kit's (signature/signature.hpp).
//
//   std::span<const kit::Operator> Operators() override { return kit::MicrosoftOperators(); }
#pragma once

#include <span>

#include "epiphyte/kit/plugin/schema.hpp"

namespace epiphyte::kit {

// MatMulNBits.
std::span<const Operator> MicrosoftOperators();

}  // namespace epiphyte::kit
