// The bias of a product on integers, as what is added to the sums: int32 with the scale of the input times that of the
// weights.
//
//   std::string why;
//   const std::optional<std::vector<int32_t>> bias = qdq::QuantizedBias(editor, unit, &why);
//   if (!bias) return Decline(why);
//   Emit(*bias);                     // one for each output channel; empty where there is no bias
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "epiphyte/kit/qdq/unit.hpp"

namespace epiphyte::kit::qdq {

// Whether the scales of a bias are those of the input times those of the weights, to within float's precision.
bool HasProductScale(const Quantization& bias, const Quantization& input, const Quantization& weights);

// For units whose operator has a bias (rules.hpp), dequantised or float, of any scale; numbers are rounded to the
// nearest. Nothing, and `why`, if the bias isn't one number or one for each channel, if its bytes are gone, or if
// int32 doesn't hold it.
std::optional<std::vector<int32_t>> QuantizedBias(const ir::Editor& editor, const Unit& unit, std::string* why);

}  // namespace epiphyte::kit::qdq
