#include "core/base/text.h"

#include <cstdint>

namespace epiphyte::core {
namespace {

struct Character {
  size_t length;  // 0: not well-formed
  uint32_t code_point;
};

Character Decode(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[offset + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {1, first};
  size_t length = 0;
  uint32_t code_point = 0;
  uint32_t smallest = 0;  // overlong forms spell the same character in more bytes: not well-formed
  if ((first & 0xE0) == 0xC0) {
    length = 2, code_point = first & 0x1Fu, smallest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    length = 3, code_point = first & 0x0Fu, smallest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    length = 4, code_point = first & 0x07u, smallest = 0x10000;
  } else {
    return {0, 0};
  }
  if (text.size() - offset < length) return {0, 0};
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code_point = (code_point << 6) | (byte(i) & 0x3Fu);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest || code_point > 0x10FFFF || surrogate) return {0, 0};
  return {length, code_point};
}

bool IsControl(uint32_t code_point) { return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F); }

bool IsAllowedControl(uint32_t code_point) { return code_point == '\t' || code_point == '\n' || code_point == '\r'; }

}  // namespace

size_t FindNonText(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const Character character = Decode(text, offset);
    if (character.length == 0) return offset;
    if (IsControl(character.code_point) && !IsAllowedControl(character.code_point)) return offset;
    offset += character.length;
  }
  return text.size();
}

std::string PrintableLine(std::string_view text, size_t max_bytes) {
  std::string line;
  for (size_t offset = 0; offset < text.size();) {
    const Character character = Decode(text, offset);
    const size_t length = character.length == 0 ? 1 : character.length;
    if (line.size() + length > max_bytes) return line + "...";
    if (character.length == 0) {
      line += '?';
    } else if (IsControl(character.code_point)) {
      line += ' ';
    } else {
      line += text.substr(offset, length);
    }
    offset += length;
  }
  return line;
}

}  // namespace epiphyte::core
