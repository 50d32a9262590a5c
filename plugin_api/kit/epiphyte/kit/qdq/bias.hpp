// QuantizedBias: the bias of an integer GEMM or convolution, in the form that is added to the sums: int32, with the
// product of the input's and the weights' scales as scale.
//
//   std::string why;
//   const std::optional<std::vector<int32_t>> bias = qdq::QuantizedBias(editor, unit, &why);
//   if (!bias) return Decline(why);
//   Emit(*bias);                     // one for each output channel; empty if there is no bias
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "epiphyte/kit/qdq/unit.hpp"

namespace epiphyte::kit::qdq {

// True when the bias's scales equal the products of the input's and the weights' scales, within float precision.
bool HasProductScale(const Quantization& bias, const Quantization& input, const Quantization& weights);

// Handles units of operators with a bias (rules.hpp). The bias may be dequantised or float and of any scale; numbers
// are rounded to the nearest. Returns nothing and sets `why` when the bias is neither one number nor one for each
// channel, when its bytes are gone, or when int32 can't hold it.
std::optional<std::vector<int32_t>> QuantizedBias(const ir::Editor& editor, const Unit& unit, std::string* why);

}  // namespace epiphyte::kit::qdq
