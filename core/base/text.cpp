#include "core/base/text.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <iterator>

namespace epiphyte::core {

std::string CountText(uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

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
  uint32_t smallest = 0;  // smallest code point of this length; overlong forms are not well-formed
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

// Line separator and paragraph separator: line breaks that are no control characters.
bool IsLineBreak(uint32_t code_point) { return code_point == 0x2028 || code_point == 0x2029; }

// Marks, embeddings, overrides and isolates: text after them may be displayed in another place.
bool ChangesDirection(uint32_t code_point) {
  return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
         (code_point >= 0x202A && code_point <= 0x202E) || (code_point >= 0x2066 && code_point <= 0x2069);
}

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
    if (character.length == 0 || ChangesDirection(character.code_point)) {
      line += '?';
    } else if (IsControl(character.code_point) || IsLineBreak(character.code_point)) {
      line += ' ';
    } else {
      line += text.substr(offset, length);
    }
    offset += length;
  }
  return line;
}

std::string LineProblem(const char* text, size_t max_bytes) {
  if (text == nullptr) return "is null, a string expected";
  const std::string_view view(text, strnlen(text, max_bytes));
  if (view.size() == max_bytes) return fmt::format("does not end within {} bytes", max_bytes);
  if (FindNonText(view) != view.size() || view.find_first_of("\t\r\n") != std::string_view::npos) {
    return fmt::format("is '{}', printable UTF-8 expected", PrintableLine(view));
  }
  return {};
}

std::string PrintableJson(std::string_view json) {
  std::string printable;
  printable.reserve(json.size());
  for (size_t offset = 0; offset < json.size();) {
    const Character character = Decode(json, offset);
    const uint32_t code_point = character.code_point;
    if (character.length == 0) {
      printable += '?';
      ++offset;
      continue;
    }
    // JSON structure is ASCII, so all of these are inside strings. Characters below U+0020 are escaped already.
    if (code_point >= 0x7F && (IsControl(code_point) || IsLineBreak(code_point) || ChangesDirection(code_point))) {
      fmt::format_to(std::back_inserter(printable), "\\u{:04x}", code_point);
    } else {
      printable += json.substr(offset, character.length);
    }
    offset += character.length;
  }
  return printable;
}

}  // namespace epiphyte::core
