// What a provider may be called.
#pragma once

#include <string_view>

namespace epiphyte::core {

// 1 to 64 letters, digits, '_' and '-', the first a letter or digit. A name becomes part of file names and of option
// keys.
bool IsProviderName(std::string_view name);

}  // namespace epiphyte::core
