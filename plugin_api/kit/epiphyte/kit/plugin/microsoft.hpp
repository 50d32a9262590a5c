// MicrosoftOperators: operators of com.microsoft that the host can't expand into operators of ONNX, so that providers
// must compute them themselves. They are described as a plugin's operators (schema.hpp). The kit has their signatures
// (signature/signature.hpp).
//
//   std::span<const kit::Operator> Operators() override { return kit::MicrosoftOperators(); }
#pragma once

#include <span>

#include "epiphyte/kit/plugin/schema.hpp"

namespace epiphyte::kit {

// The list has one operator, MatMulNBits.
std::span<const Operator> MicrosoftOperators();

}  // namespace epiphyte::kit
