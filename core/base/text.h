// Checks and conversions of text from files and plugins that is shown in messages and terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace epiphyte::core {

// Offset of the first byte that isn't well-formed UTF-8 or belongs to a control character other than tab, line feed and
// carriage return. text.size() when the whole is text.
size_t FindNonText(std::string_view text);

// One line that is safe to print. Line breaks and other control characters (C0 and C1) become spaces. Bytes that aren't
// UTF-8 and characters that change the direction of text become '?'. Text longer than `max_bytes` is cut between
// characters and ends in "...".
std::string PrintableLine(std::string_view text, size_t max_bytes = 1024);

// "1 node", "2 nodes".
std::string CountText(uint64_t count, std::string_view thing);

// Says why a zero-terminated string from a plugin or application is not one line of text: "is null, a string expected",
// "does not end within 256 bytes" (`max_bytes` includes the zero), "is 'a?b', printable UTF-8 expected". Returns ""
// when it is one line. An empty string is a line.
std::string LineProblem(const char* text, size_t max_bytes);

// The same JSON document, safe to print: characters that PrintableLine would replace become \u escapes, so nothing is
// lost.
std::string PrintableJson(std::string_view json);

}  // namespace epiphyte::core
