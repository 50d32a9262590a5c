// Lookup tables of 256 entries, which compute any function of one byte.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "epiphyte/kit/qdq/quantization.hpp"

namespace epiphyte::npu {

namespace qdq = kit::qdq;

using Function = std::function<double(double)>;

// The stored results for all 256 stored numbers, indexed by the number as an unsigned byte. They are dequantised,
// computed, quantised with halves to even, as DequantizeLinear and QuantizeLinear do, and clamped to [`low`, `high`].
// NaN results become the zero point.
std::array<uint8_t, 256> MakeTable(const Function& function, const qdq::Quantization& x, const qdq::Quantization& y,
                                   int64_t low, int64_t high);

}  // namespace epiphyte::npu
