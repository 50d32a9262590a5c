// Functions of bytes as lookup tables: element-wise operators on quantised tensors.
#pragma once

#include <array>
#include <cstdint>

namespace epiphyte::cpu::simd {

// y[i] = table[x[i]]; y may be x. Uses AVX-512 VBMI if the CPU has it.
void MapBytes(const std::array<uint8_t, 256>& table, const uint8_t* x, uint8_t* y, int64_t n);

}  // namespace epiphyte::cpu::simd
