// Text of an exception of a library or a plugin, for use in a sentence. Standard exceptions have a name only, no text.
#pragma once

#include <exception>
#include <new>
#include <string_view>

namespace epiphyte::core {

inline std::string_view ReasonOf(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what();
}

}  // namespace epiphyte::core
