// Payload: programs as the bytes of an EP context.
//
//   "EpTestDevice:", u32 version, u64 size of the whole payload, u32 programs; of each:
//     u32 and name, u32 and inputs (i32 type), u32 and constants (i32 type, u32 and dims (i64), u64 and data),
//     u32 and steps (u8 op, 3 × u32 value), u32 and outputs (u32 value)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/device/plugin/program.h"

namespace epiphyte::test::device {

std::string WritePayload(const std::vector<const Program*>& programs);

// Reads programs. Every field is checked; throws INVALID_GRAPH for a payload that isn't valid.
std::vector<Program> ReadPayload(std::string_view bytes);

}  // namespace epiphyte::test::device
