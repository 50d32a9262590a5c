// Payload: the recording plugins' own format, kept as simple as possible.
//
//   "<magic>\n", little-endian u32 version, u64 size of the whole payload,
//   u32 tensors, of each: u32 rank, i64 dims, f32 data
//   u32 programs, of each: u32 and name, u32 inputs, u32 slots, u32 and constants (u32 slot, u32 tensor),
//     u32 and steps (u8 op, u32 a, u32 b, u32 out), u32 and outputs (u32 slot)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/context/plugin/program.h"

namespace epiphyte::recorder {

inline constexpr uint32_t kFormatVersion = 3;

std::string WritePayload(const Package& package, std::string_view magic);

// Throws INVALID_GRAPH if anything doesn't fit. No value from the file is used unchecked.
Package ReadPayload(std::string_view bytes, std::string_view magic);

}  // namespace epiphyte::recorder
