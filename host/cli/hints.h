// Advice of the command line about an error. The library's messages only name remedies of the library.
#pragma once

#include <string_view>

#include "epiphyte/error.hpp"

namespace epiphyte::cli {

// Returns the text to append to the message; "" when there is nothing to add.
std::string_view HintText(Hint hint);

}  // namespace epiphyte::cli
