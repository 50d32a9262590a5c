// Text for a terminal. Names come from models, manifests and plugins, and may hold any bytes.
//
//   std::cout << epiphyte::PrintableText(session.inputs()[0].name) << '\n';
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "epiphyte/export.hpp"

namespace epiphyte {

// Returns one line of UTF-8 that is safe to print. Control characters become spaces. Bytes that aren't UTF-8 and
// characters that change the direction of text become '?'. Text longer than `max_bytes` is cut and ends in "...".
// Messages of Error are safe already.
EPIPHYTE_API std::string PrintableText(std::string_view text, size_t max_bytes = 1024);

// Returns the same JSON document with unsafe characters as escapes.
EPIPHYTE_API std::string PrintableJson(std::string_view json);

// "1 node", "2 nodes".
EPIPHYTE_API std::string CountText(uint64_t count, std::string_view thing);

}  // namespace epiphyte
