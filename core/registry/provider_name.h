// The rule for provider names.
#pragma once

#include <string_view>

namespace epiphyte::core {

// Whether the name has 1 to 64 letters, digits, '_' and '-', and begins with a letter or digit. Names become part of
// file names and of option keys.
bool IsProviderName(std::string_view name);

}  // namespace epiphyte::core
