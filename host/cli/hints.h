// Advice of the command line about an error, for library messages that name only the library's own means.
#pragma once

#include <string_view>

#include "epiphyte/error.hpp"

namespace epiphyte::cli {

// Goes behind the message; "" when there is nothing to add.
std::string_view HintText(Hint hint);

}  // namespace epiphyte::cli
