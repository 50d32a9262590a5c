// What the command line knows to do about an error, where the library's message names its own means.
#pragma once

#include <string_view>

#include "epiphyte/error.hpp"

namespace epiphyte::cli {

// Goes behind the message; "" when there is nothing to add.
std::string_view HintText(Hint hint);

}  // namespace epiphyte::cli
