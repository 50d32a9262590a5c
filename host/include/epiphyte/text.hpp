// Text for a terminal. Names come from models, manifests and plugins, and may hold anything.
//
//   std::cout << epiphyte::PrintableText(session.inputs()[0].name) << '\n';
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "epiphyte/export.hpp"

namespace epiphyte {

// One line of UTF-8 that is safe to print: control characters become spaces, bytes that aren't UTF-8 and characters
// that change the direction of text become '?', and what is longer than `max_bytes` is cut and ends in "...". Messages
// of Error need no more of it.
EPIPHYTE_API std::string PrintableText(std::string_view text, size_t max_bytes = 1024);

// The same JSON document with such characters as escapes.
EPIPHYTE_API std::string PrintableJson(std::string_view json);

// "1 node", "2 nodes".
EPIPHYTE_API std::string CountText(uint64_t count, std::string_view thing);

}  // namespace epiphyte
