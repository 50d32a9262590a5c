// Compiles a pattern to the program that Regex runs.
#include <algorithm>
#include <optional>
#include <string>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/text/regex.h"
#include "plugins/cpu/text/regex_classes.h"
#include "plugins/cpu/text/utf8.h"

namespace epiphyte::cpu {
namespace {

constexpr size_t kMostInstructions = 200'000;
constexpr int kMostNesting = 200;
constexpr int kMostRepeats = 1000;

using Ranges = CodePointRanges;

}  // namespace

// Recursive-descent parser: each Parse function appends the program of its part of the pattern.
class RegexCompiler {
 public:
  RegexCompiler(std::string_view pattern, Regex& regex)
      : pattern_(pattern), program_(regex.program_), classes_(regex.classes_) {}

  void Compile() {
    ParseAlternatives();
    if (at_ < pattern_.size()) Fail("a ')' without a '('");
    Emit({.op = Regex::Op::kMatch});
  }

 private:
  using Instruction = Regex::Instruction;
  struct Flags {
    bool ignore_case = false;
    bool multi_line = false;
    bool dot_is_all = false;
  };

  // Shortens the pattern for messages: it may fill pages, and a message is one line.
  std::string ShortPattern() const {
    constexpr size_t kMostBytes = 100;
    if (pattern_.size() <= kMostBytes) return std::string(pattern_);
    size_t end = kMostBytes;
    while ((static_cast<unsigned char>(pattern_[end]) & 0xC0) == 0x80) --end;  // not inside a character
    return std::string(pattern_.substr(0, end)) + "...";
  }

  [[noreturn]] void Fail(std::string_view what) const {
    FailOp("pattern '{}': {} found at {}, RE2 syntax expected", ShortPattern(), what, at_);
  }
  bool AtEnd() const { return at_ >= pattern_.size(); }
  char Peek() const { return AtEnd() ? '\0' : pattern_[at_]; }
  bool Take(std::string_view text) {
    if (pattern_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  uint32_t TakeCodePoint() {
    if (AtEnd()) Fail("the end");
    return DecodeUtf8(pattern_, at_);
  }

  uint32_t Here() const { return static_cast<uint32_t>(program_.size()); }
  uint32_t Emit(Instruction instruction) {
    if (program_.size() >= kMostInstructions) FailOp("pattern '{}' found, a smaller one expected", ShortPattern());
    program_.push_back(instruction);
    return Here() - 1;
  }
  void EmitClass(Ranges ranges) {
    Normalize(ranges);
    if (flags_.ignore_case) AddBothCases(ranges);
    classes_.push_back(std::move(ranges));
    Emit({.op = Regex::Op::kClass, .a = static_cast<uint32_t>(classes_.size() - 1)});
  }
  void EmitLiteral(uint32_t c) { EmitClass({{c, c}}); }
  void EmitAssertion(Regex::Assertion assertion) { Emit({.op = Regex::Op::kAssert, .assertion = assertion}); }

  // Inserts an instruction at `begin` and moves the jump targets behind it.
  void InsertAt(uint32_t begin) {
    Emit({});
    std::rotate(program_.begin() + begin, program_.end() - 1, program_.end());
    for (uint32_t i = begin + 1; i < Here(); ++i) Shift(program_[i], begin, 1);
  }
  static void Shift(Instruction& instruction, uint32_t from, uint32_t by) {
    if (instruction.op == Regex::Op::kSplit || instruction.op == Regex::Op::kJump) {
      if (instruction.a >= from) instruction.a += by;
      if (instruction.op == Regex::Op::kSplit && instruction.b >= from) instruction.b += by;
    }
  }

  void ParseAlternatives() {
    if (++nesting_ > kMostNesting) Fail("too deep a nesting");
    const Flags outer = flags_;
    const uint32_t begin = Here();
    ParseSequence();
    if (Peek() == '|' && !AtEnd()) {
      // A chain of splits: one branch is this alternative, the other is the rest. Each alternative jumps to the end.
      ++at_;
      InsertAt(begin);
      const uint32_t jump = Emit({.op = Regex::Op::kJump});
      program_[begin] = {.op = Regex::Op::kSplit, .a = begin + 1, .b = Here()};
      ParseRest();
      program_[jump].a = Here();
    }
    flags_ = outer;
    --nesting_;
  }
  // Parses the alternatives behind '|' in a loop, so that their number does not increase the recursion depth.
  void ParseRest() {
    std::vector<uint32_t> jumps;
    while (true) {
      const uint32_t begin = Here();
      ParseSequence();
      if (AtEnd() || Peek() != '|') break;
      ++at_;
      InsertAt(begin);
      jumps.push_back(Emit({.op = Regex::Op::kJump}));
      program_[begin] = {.op = Regex::Op::kSplit, .a = begin + 1, .b = Here()};
    }
    for (uint32_t jump : jumps) program_[jump].a = Here();
  }

  void ParseSequence() {
    while (!AtEnd() && Peek() != '|' && Peek() != ')') {
      const uint32_t begin = Here();
      const bool repeatable = ParseAtom();
      if (repeatable) {
        ParseRepeats(begin);
      } else if (!AtEnd() && (Peek() == '*' || Peek() == '+' || Peek() == '?')) {
        Fail("a repetition of nothing");
      }
    }
  }

  // Returns true when the parsed atom may be repeated.
  bool ParseAtom() {
    if (Take("\\Q")) return ParseQuoted();
    const char c = Peek();
    switch (c) {
      case '(': return ParseGroup();
      case '[': ParseBrackets(); return true;
      case '\\': return ParseEscape();
      case '.':
        ++at_;
        EmitClass(flags_.dot_is_all ? Ranges{{0, kLastCodePoint}} : Ranges{{0, '\n' - 1}, {'\n' + 1, kLastCodePoint}});
        return true;
      case '^':
        ++at_;
        EmitAssertion(flags_.multi_line ? Regex::Assertion::kLineBegin : Regex::Assertion::kTextBegin);
        return true;
      case '$':
        ++at_;
        EmitAssertion(flags_.multi_line ? Regex::Assertion::kLineEnd : Regex::Assertion::kTextEnd);
        return true;
      case '*':
      case '+':
      case '?': Fail("a repetition of nothing");
      default: EmitLiteral(TakeCodePoint()); return true;
    }
  }

  bool ParseQuoted() {
    while (!AtEnd() && !Take("\\E")) EmitLiteral(TakeCodePoint());
    return false;
  }

  bool ParseGroup() {
    ++at_;
    const Flags outer = flags_;
    if (Take("?")) {
      if (Take("P<") || Take("<")) {
        const size_t end = pattern_.find('>', at_);
        if (end == std::string_view::npos || end == at_) Fail("a group without a name");
        at_ = end + 1;
      } else if (ParseFlags()) {
        return false;  // (?i) applies up to the end of the enclosing group
      }
    }
    ParseAlternatives();
    if (!Take(")")) Fail("a '(' without a ')'");
    flags_ = outer;
    return true;
  }
  // Parses "i:" or "i)" behind "(?"; returns true for the latter.
  bool ParseFlags() {
    bool value = true;
    while (true) {
      if (AtEnd()) Fail("the end");
      const char c = pattern_[at_++];
      switch (c) {
        case 'i': flags_.ignore_case = value; break;
        case 'm': flags_.multi_line = value; break;
        case 's': flags_.dot_is_all = value; break;
        case 'U': break;  // the preferred match makes no difference to whether there is one
        case '-': value = false; break;
        case ':': return false;
        case ')': return true;
        default: --at_; Fail("an unknown flag");
      }
    }
  }

  bool ParseEscape() {
    ++at_;
    if (AtEnd()) Fail("a backslash at the end");
    switch (Peek()) {
      case 'A':
        ++at_;
        EmitAssertion(Regex::Assertion::kTextBegin);
        return true;
      case 'z':
        ++at_;
        EmitAssertion(Regex::Assertion::kTextEnd);
        return true;
      case 'b':
        ++at_;
        EmitAssertion(Regex::Assertion::kWordBoundary);
        return true;
      case 'B':
        ++at_;
        EmitAssertion(Regex::Assertion::kNoWordBoundary);
        return true;
      case 'C':
        ++at_;
        EmitClass({{0, kLastCodePoint}});
        return true;
      default: break;
    }
    if (std::optional<Ranges> ranges = TakePerlClass(); ranges)
      EmitClass(std::move(*ranges));
    else
      EmitLiteral(TakeEscapedCharacter());
    return true;
  }

  // Parses \d and similar classes after the backslash.
  std::optional<Ranges> TakePerlClass() {
    std::optional<Ranges> ranges;
    switch (Peek()) {
      case 'd': ranges = Digits(); break;
      case 'D': ranges = Negate(Digits()); break;
      case 's': ranges = Spaces(); break;
      case 'S': ranges = Negate(Spaces()); break;
      case 'w': ranges = Word(); break;
      case 'W': ranges = Negate(Word()); break;
      case 'p':
      case 'P': NotImplemented("pattern '{}' found with a Unicode class, one without expected", ShortPattern());
      default: return std::nullopt;
    }
    ++at_;
    return ranges;
  }

  uint32_t TakeEscapedCharacter() {
    const char c = Peek();
    const auto is_octal = [&] { return Peek() >= '0' && Peek() <= '7' && !AtEnd(); };
    switch (c) {
      case 'a': ++at_; return '\a';
      case 'f': ++at_; return '\f';
      case 'n': ++at_; return '\n';
      case 'r': ++at_; return '\r';
      case 't': ++at_; return '\t';
      case 'v': ++at_; return '\v';
      case 'x': ++at_; return TakeHex();
      default: break;
    }
    if (is_octal()) {
      uint32_t value = 0;
      for (int i = 0; i < 3 && is_octal(); ++i) value = value * 8 + static_cast<uint32_t>(pattern_[at_++] - '0');
      return value;
    }
    if (AtEnd() || IsWord(static_cast<uint8_t>(c))) Fail("an unknown escape");
    return TakeCodePoint();
  }
  uint32_t TakeHex() {
    const auto digit = [&]() -> int {
      const char c = Peek();
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      return -1;
    };
    const bool braces = Take("{");
    uint32_t value = 0;
    int digits = 0;
    while (digits < (braces ? 6 : 2) && digit() >= 0) {
      value = value * 16 + static_cast<uint32_t>(digit());
      ++at_;
      ++digits;
    }
    if (digits == 0 || (!braces && digits != 2) || (braces && !Take("}")) || value > 0x10FFFF)
      Fail("a bad hexadecimal escape");
    return value;
  }

  void ParseBrackets() {
    ++at_;
    const bool negated = Take("^");
    Ranges ranges;
    bool first = true;
    while (first || Peek() != ']') {
      if (AtEnd()) Fail("a '[' without a ']'");
      first = false;
      if (Take("[:")) {
        const size_t end = pattern_.find(":]", at_);
        if (end == std::string_view::npos) Fail("a class without an end");
        std::string_view name = pattern_.substr(at_, end - at_);
        const bool other = !name.empty() && name[0] == '^';
        if (other) name.remove_prefix(1);
        std::optional<Ranges> named = PosixClass(name);
        if (!named) Fail("an unknown class");
        if (other) named = Negate(std::move(*named));
        ranges.insert(ranges.end(), named->begin(), named->end());
        at_ = end + 2;
        continue;
      }
      if (Peek() == '\\') {
        ++at_;
        if (std::optional<Ranges> named = TakePerlClass(); named) {
          ranges.insert(ranges.end(), named->begin(), named->end());
          continue;
        }
        --at_;
      }
      const uint32_t low = TakeBracketCharacter();
      uint32_t high = low;
      if (Peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        ++at_;
        high = TakeBracketCharacter();
        if (high < low) Fail("a range that runs backwards");
      }
      ranges.emplace_back(low, high);
    }
    ++at_;
    if (negated) {
      Normalize(ranges);
      if (flags_.ignore_case) AddBothCases(ranges);
      const bool ignore_case = flags_.ignore_case;
      flags_.ignore_case = false;
      EmitClass(Negate(std::move(ranges)));
      flags_.ignore_case = ignore_case;
    } else {
      EmitClass(std::move(ranges));
    }
  }
  uint32_t TakeBracketCharacter() { return Take("\\") ? TakeEscapedCharacter() : TakeCodePoint(); }

  // Repeats the program from `begin` on as the following operators say.
  void ParseRepeats(uint32_t begin) {
    while (!AtEnd()) {
      int least = 0, most = -1;
      if (Take("*")) {
      } else if (Take("+")) {
        least = 1;
      } else if (Take("?")) {
        most = 1;
      } else if (!TakeBraces(least, most)) {
        return;
      }
      Take("?");  // lazy: makes no difference to whether there is a match
      Repeat(begin, least, most);
    }
  }
  // Parses "{2,5}". Anything else behind a brace makes the brace a literal.
  bool TakeBraces(int& least, int& most) {
    if (Peek() != '{') return false;
    const size_t start = at_;
    ++at_;
    const auto number = [&]() -> int {
      int value = -1;
      while (!AtEnd() && Peek() >= '0' && Peek() <= '9' && value <= kMostRepeats)
        value = std::max(value, 0) * 10 + (pattern_[at_++] - '0');
      return value;
    };
    const int low = number();
    int high = low;
    if (low >= 0 && Take(",")) high = Peek() == '}' ? -1 : number();
    if (low < 0 || !Take("}")) {
      at_ = start;
      return false;
    }
    if (low > kMostRepeats || high > kMostRepeats || (high >= 0 && high < low)) Fail("a bad repetition count");
    least = low;
    most = high;
    return true;
  }

  void Repeat(uint32_t begin, int least, int most) {
    const std::vector<Instruction> body(program_.begin() + begin, program_.end());
    program_.resize(begin);
    const auto append = [&] {
      const uint32_t by = Here() - begin;
      for (Instruction instruction : body) {
        Shift(instruction, begin, by);
        Emit(instruction);
      }
    };
    for (int i = 0; i < least; ++i) append();
    if (most < 0) {
      const uint32_t split = Emit({.op = Regex::Op::kSplit});
      append();
      Emit({.op = Regex::Op::kJump, .a = split});
      program_[split].a = split + 1;
      program_[split].b = Here();
      return;
    }
    std::vector<uint32_t> splits;
    for (int i = least; i < most; ++i) {
      splits.push_back(Emit({.op = Regex::Op::kSplit}));
      append();
    }
    for (uint32_t split : splits) {
      program_[split].a = split + 1;
      program_[split].b = Here();
    }
  }

  std::string_view pattern_;
  std::vector<Instruction>& program_;
  std::vector<Ranges>& classes_;
  size_t at_ = 0;
  int nesting_ = 0;
  Flags flags_;
};

Regex::Regex(std::string_view pattern) { RegexCompiler(pattern, *this).Compile(); }

}  // namespace epiphyte::cpu
