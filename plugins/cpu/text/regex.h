// Regular expressions in RE2's syntax, matched against a whole string in time linear in its length.
//
//     Regex regex("[a-z]+@[a-z]+\\.(com|org)");   // throws kit::Error when it is no expression
//     regex.FullMatch("mail@example.org");          // true
//
// An expression comes from a model and may be hostile. Nesting and the size of the compiled program are bounded, and
// the matcher keeps a set of states instead of backtracking. Unicode classes (\pL) are not supported.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace epiphyte::cpu {

class Regex {
 public:
  explicit Regex(std::string_view pattern);
  bool FullMatch(std::string_view text) const;

 private:
  friend class RegexCompiler;
  enum class Op : uint8_t { kClass, kSplit, kJump, kAssert, kMatch };
  enum class Assertion : uint8_t { kTextBegin, kTextEnd, kLineBegin, kLineEnd, kWordBoundary, kNoWordBoundary };
  struct Instruction {
    Op op = Op::kMatch;
    Assertion assertion = Assertion::kTextBegin;
    uint32_t a = 0;  // kSplit: both targets; kJump: the target; kClass: number of the class
    uint32_t b = 0;
  };
  using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;  // sorted ranges of code points

  struct States;
  void Follow(States& states, uint32_t start, uint32_t previous, uint32_t next) const;

  std::vector<Instruction> program_;
  std::vector<Ranges> classes_;
};

}  // namespace epiphyte::cpu
