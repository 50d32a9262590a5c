// NumberText: the shortest text that reads back as the same number.
//
//   NumberText(0.1f) == "0.1";  NumberText(1e-5) == "1e-05";  NumberText(-0.0) == "-0"
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <charconv>
#include <cmath>
#include <string>

namespace epiphyte::kit {

// Magnitudes from 1e-4 to below 1e16 have no exponent. Numbers that are not finite are "nan", "inf", "-inf".
template <typename F>
std::string NumberText(F number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  const F magnitude = std::fabs(number);
  const bool plain = magnitude == 0 || (magnitude >= F(1e-4) && magnitude < F(1e16));
  char text[64];
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  return {text, std::to_chars(text, text + sizeof text, number, format).ptr};
}

}  // namespace epiphyte::kit
