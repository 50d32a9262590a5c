// Sets of code points, for regular expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace epiphyte::cpu {

// Inclusive ranges of code points.
using CodePointRanges = std::vector<std::pair<uint32_t, uint32_t>>;

// the range above the code points stands for invalid UTF-8 bytes
inline constexpr uint32_t kLastCodePoint = 0x10FFFF + 0x100;

// Sorts the ranges and joins overlapping ones.
void Normalize(CodePointRanges& ranges);
CodePointRanges Negate(CodePointRanges ranges);
void AddBothCases(CodePointRanges& ranges);

CodePointRanges Digits();  // \d
CodePointRanges Spaces();  // \s
CodePointRanges Word();    // \w
// Ranges of a POSIX class such as "alpha".
std::optional<CodePointRanges> PosixClass(std::string_view name);

bool IsWord(uint32_t code_point);

}  // namespace epiphyte::cpu
