// What an exception of a library or a plugin says, for a sentence: the standard's own have names and no text.
#pragma once

#include <exception>
#include <new>
#include <string_view>

namespace epiphyte::core {

inline std::string_view ReasonOf(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what();
}

}  // namespace epiphyte::core
