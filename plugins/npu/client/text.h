// Texts of an SDK, read within a length limit and turned into one line of valid UTF-8.
#pragma once

#include <cstddef>
#include <string>

namespace epiphyte::npu {

// At most `most` bytes of a zero-terminated text. Characters that aren't printable become '?'; null gives "".
std::string OneLine(const char* text, size_t most);

}  // namespace epiphyte::npu
