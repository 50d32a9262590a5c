// FailWith: throws kit::Error with a message made of its parts, so that the kit needs no formatting library.
//
//   if (rank != 4) kit::FailArgument("rank ", rank, " found, 4 expected");
//   kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "a kernel of ", size, " elements");
//
// Parts are texts, characters and integers.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

template <typename... Parts>
std::string TextOf(const Parts&... parts) {
  std::string text;
  const auto append = [&text](const auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::same_as<Part, char>) {
      text += part;
    } else if constexpr (std::integral<Part>) {
      text += std::to_string(part);
    } else {
      text += std::string_view(part);
    }
  };
  (append(parts), ...);
  return text;
}

template <typename... Parts>
[[noreturn]] void FailWith(EpStatusCode code, const Parts&... parts) {
  throw Error(code, TextOf(parts...));
}

// Throws INVALID_ARGUMENT, for errors in the inputs of a model or a run: shapes, attributes, data.
template <typename... Parts>
[[noreturn]] void FailArgument(const Parts&... parts) {
  FailWith(EP_STATUS_INVALID_ARGUMENT, parts...);
}

}  // namespace epiphyte::kit
