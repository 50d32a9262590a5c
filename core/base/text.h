// Text that comes from files and plugins and ends in messages and terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace epiphyte::core {

// Offset of the first byte that isn't well-formed UTF-8 or that is a control character other than tab, line feed and
// carriage return; text.size() when all of it is text.
size_t FindNonText(std::string_view text);

// One line that is safe to print: line breaks and other control characters (C0 and C1) become spaces; bytes that aren't
// UTF-8 and characters that change the direction of text become '?'; what is longer than `max_bytes` is cut at a
// character and ends in "...".
std::string PrintableLine(std::string_view text, size_t max_bytes = 1024);

// "1 node", "2 nodes".
std::string CountText(uint64_t count, std::string_view thing);

// What keeps a string of somebody else's, zero-terminated by his word, from being one line of text: "is null, a string
// expected", "does not end within 256 bytes" (`max_bytes` with the zero), "is 'a?b', printable UTF-8 expected"; "" when
// nothing does. An empty string is a line.
std::string LineProblem(const char* text, size_t max_bytes);

// The same document, safe to print: what PrintableLine replaces is written as \u escapes, so nothing is lost.
std::string PrintableJson(std::string_view json);

}  // namespace epiphyte::core
