// Text by the format strings of {fmt}.
//
// {fmt} is used as headers alone, so that the plugin needs no further library. Each file that calls fmt::format would
// compile all of its formatting, which takes seconds; FormatText compiles it once, in format.cpp.
//
//     throw kit::Error(EP_STATUS_EP_FAIL, FormatText("oneDNN has no matmul for {} x {}", k, n));
#pragma once

// GCC 14 wrongly assumes that fmt 10 may format a number to a text of length -1.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
#include <fmt/core.h>
#pragma GCC diagnostic pop

#include <string>
#include <utility>

namespace epiphyte::cpu {

std::string FormatArguments(fmt::string_view format, fmt::format_args arguments);

template <typename... Args>
std::string FormatText(fmt::format_string<Args...> format, Args&&... args) {
  return FormatArguments(format, fmt::make_format_args(args...));
}

}  // namespace epiphyte::cpu
