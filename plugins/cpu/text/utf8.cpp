#include "plugins/cpu/text/utf8.h"

namespace epiphyte::cpu {
namespace {

bool Between(uint32_t c, uint32_t low, uint32_t high) { return c >= low && c <= high; }

// Blocks with an upper-case letter at each even (odd) number, followed by its lower-case letter.
bool IsEvenUpperPair(uint32_t c) {
  return Between(c, 0x100, 0x12F) || Between(c, 0x132, 0x137) || Between(c, 0x14A, 0x177) || Between(c, 0x1DE, 0x1EF) ||
         Between(c, 0x1F8, 0x21F) || Between(c, 0x222, 0x233) || Between(c, 0x3D8, 0x3EF) || Between(c, 0x460, 0x481) ||
         Between(c, 0x48A, 0x4BF) || Between(c, 0x4D0, 0x52F) || Between(c, 0x1E00, 0x1E95) ||
         Between(c, 0x1EA0, 0x1EFF);
}
bool IsOddUpperPair(uint32_t c) {
  return Between(c, 0x139, 0x148) || Between(c, 0x179, 0x17E) || Between(c, 0x1CD, 0x1DC) || Between(c, 0x4C1, 0x4CE);
}

}  // namespace

uint32_t DecodeUtf8(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint32_t first = byte(at);
  const uint32_t invalid = kInvalidByte + first;
  ++at;
  if (first < 0x80) return first;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < length - 1) return invalid;
  uint32_t code_point = first & (0xFFu >> (length + 1));
  for (size_t i = 0; i + 1 < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return invalid;
    code_point = code_point << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast[length] || code_point > 0x10FFFF || Between(code_point, 0xD800, 0xDFFF)) return invalid;
  at += length - 1;
  return code_point;
}

void AppendUtf8(std::string& text, uint32_t c) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c >= kInvalidByte) {
    put(c - kInvalidByte);
  } else if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  }
}

uint32_t ToLower(uint32_t c) {
  if (c < 0x80) return Between(c, 'A', 'Z') ? c + 32 : c;
  if (Between(c, 0xC0, 0xDE) && c != 0xD7) return c + 32;
  if (c == 0x130) return 'i';
  if (c == 0x178) return 0xFF;
  if (IsEvenUpperPair(c)) return c | 1;
  if (IsOddUpperPair(c)) return c + (c & 1);
  if (Between(c, 0x391, 0x3AB) && c != 0x3A2) return c + 32;
  if (c == 0x386) return 0x3AC;
  if (Between(c, 0x388, 0x38A)) return c + 37;
  if (c == 0x38C) return 0x3CC;
  if (Between(c, 0x38E, 0x38F)) return c + 63;
  if (Between(c, 0x410, 0x42F)) return c + 32;
  if (Between(c, 0x400, 0x40F)) return c + 80;
  if (Between(c, 0x531, 0x556)) return c + 48;
  return c;
}

uint32_t ToUpper(uint32_t c) {
  if (c < 0x80) return Between(c, 'a', 'z') ? c - 32 : c;
  if (Between(c, 0xE0, 0xFE) && c != 0xF7) return c - 32;
  if (c == 0xB5) return 0x39C;
  if (c == 0xFF) return 0x178;
  if (c == 0x131) return 'I';
  if (c == 0x17F) return 'S';
  if (IsEvenUpperPair(c)) return c & ~1u;
  if (IsOddUpperPair(c)) return c - (1 - (c & 1));
  if (Between(c, 0x3B1, 0x3CB) && c != 0x3C2) return c - 32;
  if (c == 0x3C2) return 0x3A3;
  if (c == 0x3AC) return 0x386;
  if (Between(c, 0x3AD, 0x3AF)) return c - 37;
  if (c == 0x3CC) return 0x38C;
  if (Between(c, 0x3CD, 0x3CE)) return c - 63;
  if (Between(c, 0x430, 0x44F)) return c - 32;
  if (Between(c, 0x450, 0x45F)) return c - 80;
  if (Between(c, 0x561, 0x586)) return c - 48;
  return c;
}

std::string MapUtf8(std::string_view text, uint32_t (*map)(uint32_t)) {
  std::string mapped;
  mapped.reserve(text.size());
  for (size_t at = 0; at < text.size();) AppendUtf8(mapped, map(DecodeUtf8(text, at)));
  return mapped;
}

}  // namespace epiphyte::cpu
