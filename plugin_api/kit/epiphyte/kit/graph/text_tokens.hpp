// Tokens: one line of a graph's text, cut into names, quoted texts and signs. For FromText.
//
//   Tokens tokens("c = Conv(x, w)", 7);
//   tokens.Name("a value");            // "c"
//   tokens.Expect("=");
//
// What isn't there as expected is INVALID_GRAPH: "line 7: '(' found; '=' expected".
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epiphyte::kit::ir {

class Tokens {
 public:
  // Throws for a quoted text without an end and for signs that mean nothing.
  Tokens(std::string_view line, size_t number);

  bool AtEnd() const { return next_ == tokens_.size(); }
  // What comes next, or after that; not quoted texts.
  bool IsNext(std::string_view text, size_t ahead = 0) const;
  bool IsTextNext() const { return !AtEnd() && tokens_[next_].kind == Kind::kText; }
  bool IsWordNext() const { return !AtEnd() && tokens_[next_].kind == Kind::kWord; }
  // The next one, whatever it is; not at the end.
  std::string_view Peek() const { return tokens_[next_].text; }
  // Goes past what comes next, if it is that.
  bool Take(std::string_view text);

  // Each goes past what it expects, and throws when something else is there.
  void Expect(std::string_view text);
  void ExpectEnd();
  std::string Name(std::string_view what);  // a word or a quoted text
  std::string Word(std::string_view what);
  std::string Text(std::string_view what);  // a quoted text
  int64_t Integer(std::string_view what);

  // Throws: what comes next is not what is expected.
  [[noreturn]] void FailExpecting(std::string_view what) const;
  [[noreturn]] void Fail(const std::string& message) const;
  // A text of the file as messages show it: on one line, in quotes, its beginning if it is long.
  static std::string Shown(std::string_view text);

 private:
  enum class Kind : uint8_t { kWord, kText, kSign };
  struct Token {
    Kind kind;
    std::string text;
  };
  size_t ReadText(std::string_view line, size_t at);

  std::vector<Token> tokens_;
  size_t next_ = 0;
  size_t number_;
};

}  // namespace epiphyte::kit::ir
