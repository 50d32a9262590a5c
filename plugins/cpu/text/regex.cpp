#include "plugins/cpu/text/regex.h"

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/kernel/library_beside.h"
#include "plugins/cpu/re2/re2_library.h"

namespace epiphyte::cpu {
namespace {

// RE2's own default: memory of the compiled program, and of the states that it keeps while it matches.
constexpr uint64_t kMaxRegexMemory = 8 << 20;

const EpiphyteRegexApi& OpenRe2() {
  return *reinterpret_cast<EpiphyteRegexFunction>(
      OpenBesidePlugin("libepiphyte_cpu_re2.so", EPIPHYTE_REGEX, "a regular expression"))();
}

// The pattern, or its beginning, for messages.
std::string ShortPattern(const std::string& pattern) {
  constexpr size_t kMostBytes = 100;
  if (pattern.size() <= kMostBytes) return pattern;
  size_t end = kMostBytes;
  while ((static_cast<unsigned char>(pattern[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return pattern.substr(0, end) + "...";
}

}  // namespace

Regex::Regex(const std::string& pattern) {
  const EpiphyteRegexApi& re2 = OpenRe2();
  char message[256] = {};
  void* regex = re2.compile(pattern.data(), pattern.size(), kMaxRegexMemory, message, sizeof message);
  if (regex == nullptr)
    FailOp("pattern '{}' found, RE2's syntax expected: {}", ShortPattern(pattern), ShortPattern(message));
  regex_ = std::shared_ptr<const void>(regex, [release = re2.release](void* done) { release(done); });
  full_match_ = re2.full_match;
}

bool Regex::FullMatch(std::string_view text) const {
  const int32_t found = full_match_(regex_.get(), text.data(), text.size());
  if (found == EPIPHYTE_REGEX_OUT_OF_MEMORY)
    throw kit::Error(EP_STATUS_OUT_OF_MEMORY, fmt::format("a text of {} bytes can't be matched", text.size()));
  return found == EPIPHYTE_REGEX_MATCH;
}

}  // namespace epiphyte::cpu
