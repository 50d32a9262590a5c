// Regular expressions in RE2's syntax, which ONNX names, matched against a whole string in time linear in its length.
//
//     Regex regex("\\pL+@[a-z]+\\.(com|org)");   // throws kit::Error when it is no expression
//     regex.FullMatch("mail@example.org");         // true
//
// RE2 itself is in a library beside the plugin (re2/re2_library.h), which the first expression opens. An expression
// comes from a model and may be hostile: RE2 bounds its size, and its memory while it matches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace epiphyte::cpu {

class Regex {
 public:
  // Throws INVALID_ARGUMENT for a pattern that is none or too large, and NOT_IMPLEMENTED without the library.
  explicit Regex(const std::string& pattern);
  // Text that isn't UTF-8 matches no expression that would have to read its invalid bytes. [any thread]
  bool FullMatch(std::string_view text) const;

 private:
  std::shared_ptr<const void> regex_;
  int32_t (*full_match_)(const void* regex, const char* text, uint64_t size) = nullptr;
};

}  // namespace epiphyte::cpu
