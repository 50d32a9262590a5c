// Texts of an SDK: read no further than they may be long, as one line of valid UTF-8.
#pragma once

#include <cstddef>
#include <string>

namespace epiphyte::npu {

// At most `most` bytes of a text that ends with a zero, or there. What is no printable character becomes '?'; null is
// "".
std::string OneLine(const char* text, size_t most);

}  // namespace epiphyte::npu
