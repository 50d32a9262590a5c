#include "plugins/cpu/text/regex.h"

#include <algorithm>

#include "plugins/cpu/text/regex_classes.h"
#include "plugins/cpu/text/utf8.h"

namespace epiphyte::cpu {
namespace {

constexpr uint32_t kNothing = UINT32_MAX;  // position before and behind the text

}  // namespace

// Set of the instructions that wait for a code point.
struct Regex::States {
  explicit States(size_t size) : seen(size) {}
  std::vector<uint32_t> waiting;
  std::vector<uint8_t> seen;
  std::vector<uint32_t> stack;
  bool matched = false;

  void Clear() {
    waiting.clear();
    std::fill(seen.begin(), seen.end(), uint8_t{0});
    matched = false;
  }
};

void Regex::Follow(States& states, uint32_t start, uint32_t previous, uint32_t next) const {
  states.stack.push_back(start);
  while (!states.stack.empty()) {
    const uint32_t at = states.stack.back();
    states.stack.pop_back();
    if (states.seen[at] != 0) continue;
    states.seen[at] = 1;
    const Instruction& instruction = program_[at];
    switch (instruction.op) {
      case Op::kClass: states.waiting.push_back(at); break;
      case Op::kMatch: states.matched = true; break;
      case Op::kJump: states.stack.push_back(instruction.a); break;
      case Op::kSplit:
        states.stack.push_back(instruction.b);
        states.stack.push_back(instruction.a);
        break;
      case Op::kAssert: {
        const bool boundary = IsWord(previous) != IsWord(next);
        bool holds = false;
        switch (instruction.assertion) {
          case Assertion::kTextBegin: holds = previous == kNothing; break;
          case Assertion::kTextEnd: holds = next == kNothing; break;
          case Assertion::kLineBegin: holds = previous == kNothing || previous == '\n'; break;
          case Assertion::kLineEnd: holds = next == kNothing || next == '\n'; break;
          case Assertion::kWordBoundary: holds = boundary; break;
          case Assertion::kNoWordBoundary: holds = !boundary; break;
        }
        if (holds) states.stack.push_back(at + 1);
        break;
      }
    }
  }
}

bool Regex::FullMatch(std::string_view text) const {
  States now(program_.size()), then(program_.size());
  size_t at = 0;
  uint32_t next = text.empty() ? kNothing : DecodeUtf8(text, at);
  Follow(now, 0, kNothing, next);
  while (next != kNothing && !now.waiting.empty()) {
    const uint32_t c = next;
    next = at < text.size() ? DecodeUtf8(text, at) : kNothing;
    then.Clear();
    for (uint32_t state : now.waiting) {
      const Ranges& ranges = classes_[program_[state].a];
      const auto above = std::upper_bound(ranges.begin(), ranges.end(), std::pair(c, UINT32_MAX));
      if (above != ranges.begin() && c <= std::prev(above)->second) Follow(then, state + 1, c, next);
    }
    std::swap(now, then);
  }
  return next == kNothing && now.matched;
}

}  // namespace epiphyte::cpu
