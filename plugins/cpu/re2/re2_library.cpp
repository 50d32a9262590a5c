#include "plugins/cpu/re2/re2_library.h"

#include <re2/re2.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace {

void Tell(std::string_view text, char* message, size_t message_size) {
  if (message_size == 0) return;
  const size_t length = std::min(text.size(), message_size - 1);
  std::copy_n(text.begin(), length, message);
  message[length] = '\0';
}

void* Compile(const char* pattern, uint64_t size, uint64_t max_memory, char* message, size_t message_size) {
  try {
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(static_cast<int64_t>(std::min<uint64_t>(max_memory, INT64_MAX)));
    // Captures are never asked for, and cost memory.
    options.set_never_capture(true);
    auto regex = std::make_unique<RE2>(re2::StringPiece(pattern, static_cast<size_t>(size)), options);
    if (regex->ok()) return regex.release();
    Tell(regex->error(), message, message_size);
  } catch (const std::exception& error) {
    Tell(error.what(), message, message_size);
  }
  return nullptr;
}

int32_t FullMatch(const void* regex, const char* text, uint64_t size) {
  try {
    const bool is_match =
        RE2::FullMatch(re2::StringPiece(text, static_cast<size_t>(size)), *static_cast<const RE2*>(regex));
    return is_match ? EPIPHYTE_REGEX_MATCH : EPIPHYTE_REGEX_NO_MATCH;
  } catch (const std::exception&) {
    return EPIPHYTE_REGEX_OUT_OF_MEMORY;
  }
}

void Release(void* regex) { delete static_cast<RE2*>(regex); }

constexpr EpiphyteRegexApi kApi = {Compile, FullMatch, Release};

}  // namespace

extern "C" __attribute__((visibility("default"))) const EpiphyteRegexApi* EpiphyteRegex(void) { return &kApi; }
