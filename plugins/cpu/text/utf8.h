// UTF-8 for the string operators: decoding, encoding, and simple case mapping for Latin, Greek and Cyrillic. Invalid
// UTF-8 is passed on byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace epiphyte::cpu {

// Returns the code point at `at`, and moves `at` behind it. Requires at < text.size(). An invalid byte b gives
// kInvalidByte + b.
inline constexpr uint32_t kInvalidByte = 0x110000;
uint32_t DecodeUtf8(std::string_view text, size_t& at);
void AppendUtf8(std::string& text, uint32_t code_point);

uint32_t ToLower(uint32_t code_point);
uint32_t ToUpper(uint32_t code_point);

std::string MapUtf8(std::string_view text, uint32_t (*map)(uint32_t));

}  // namespace epiphyte::cpu
