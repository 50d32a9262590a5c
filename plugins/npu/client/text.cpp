#include "plugins/npu/client/text.h"

#include <cstring>
#include <string_view>

namespace epiphyte::npu {
namespace {

// Size in bytes of the UTF-8 character at the beginning of the text; 0 if there is no valid one.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t size = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (first < 0xc2 || size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || beyond ? 0 : size;
}

}  // namespace

std::string OneLine(const char* text, size_t most) {
  if (text == nullptr) return {};
  std::string_view rest(text, strnlen(text, most));
  std::string line;
  while (!rest.empty()) {
    const size_t size = CharacterSize(rest);
    if (size == 0) {
      line += '?';
    } else {
      line += rest.substr(0, size);
    }
    rest.remove_prefix(size == 0 ? 1 : size);
  }
  return line;
}

}  // namespace epiphyte::npu
