#include "plugins/cpu/text/regex_classes.h"

#include <algorithm>

#include "plugins/cpu/text/utf8.h"

namespace epiphyte::cpu {

void Normalize(CodePointRanges& ranges) {
  std::sort(ranges.begin(), ranges.end());
  CodePointRanges joined;
  for (const auto& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().second + 1)
      joined.back().second = std::max(joined.back().second, range.second);
    else
      joined.push_back(range);
  }
  ranges = std::move(joined);
}

CodePointRanges Negate(CodePointRanges ranges) {
  Normalize(ranges);
  CodePointRanges others;
  uint32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (first > next) others.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= kLastCodePoint) others.emplace_back(next, kLastCodePoint);
  return others;
}

void AddBothCases(CodePointRanges& ranges) {
  CodePointRanges folded;
  for (const auto& [first, last] : ranges) {
    // All letters with two cases lie below this bound; longer ranges contain both cases of the letters above it.
    for (uint32_t c = first; c <= std::min(last, 0x1EFFu); ++c) {
      folded.emplace_back(ToLower(c), ToLower(c));
      folded.emplace_back(ToUpper(c), ToUpper(c));
    }
  }
  ranges.insert(ranges.end(), folded.begin(), folded.end());
  Normalize(ranges);
}

CodePointRanges Digits() { return {{'0', '9'}}; }
CodePointRanges Spaces() { return {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}; }
CodePointRanges Word() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }

bool IsWord(uint32_t c) {
  return c < 0x80 && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'));
}

std::optional<CodePointRanges> PosixClass(std::string_view name) {
  if (name == "alnum") return CodePointRanges{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
  if (name == "alpha") return CodePointRanges{{'A', 'Z'}, {'a', 'z'}};
  if (name == "ascii") return CodePointRanges{{0, 0x7F}};
  if (name == "blank") return CodePointRanges{{'\t', '\t'}, {' ', ' '}};
  if (name == "cntrl") return CodePointRanges{{0, 0x1F}, {0x7F, 0x7F}};
  if (name == "digit") return Digits();
  if (name == "graph") return CodePointRanges{{'!', '~'}};
  if (name == "lower") return CodePointRanges{{'a', 'z'}};
  if (name == "print") return CodePointRanges{{' ', '~'}};
  if (name == "punct") return CodePointRanges{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}};
  if (name == "space") return CodePointRanges{{'\t', '\r'}, {' ', ' '}};
  if (name == "upper") return CodePointRanges{{'A', 'Z'}};
  if (name == "word") return Word();
  if (name == "xdigit") return CodePointRanges{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  return std::nullopt;
}

}  // namespace epiphyte::cpu
