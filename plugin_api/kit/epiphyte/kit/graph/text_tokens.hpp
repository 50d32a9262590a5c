// Tokens: one line of a graph's text, split into names, quoted texts and signs. FromText uses it.
//
//   Tokens tokens("c = Conv(x, w)", 7);
//   tokens.Name("a value");            // "c"
//   tokens.Expect("=");
//
// An unexpected token throws INVALID_GRAPH: "line 7: '(' found; '=' expected".
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
  // Throws for a quoted text that does not end, and for an unknown sign.
  Tokens(std::string_view line, size_t number);

  bool AtEnd() const { return next_ == tokens_.size(); }
  // True when the next token, or the one `ahead` tokens later, is this word or sign. Always false for quoted texts.
  bool IsNext(std::string_view text, size_t ahead = 0) const;
  bool IsTextNext() const { return !AtEnd() && tokens_[next_].kind == Kind::kText; }
  bool IsWordNext() const { return !AtEnd() && tokens_[next_].kind == Kind::kWord; }
  // The next token of any kind. Do not call it at the end.
  std::string_view Peek() const { return tokens_[next_].text; }
  // Consumes the next token if it is `text`.
  bool Take(std::string_view text);

  // Each consumes the token that it expects, and throws when the next token is another.
  void Expect(std::string_view text);
  void ExpectEnd();
  std::string Name(std::string_view what);  // a word or a quoted text
  std::string Word(std::string_view what);
  std::string Text(std::string_view what);  // a quoted text
  int64_t Integer(std::string_view what);

  // Throws because the next token is not the expected one.
  [[noreturn]] void FailExpecting(std::string_view what) const;
  [[noreturn]] void Fail(const std::string& message) const;
  // A text of the file for a message: quoted, on one line, and shortened if it is long.
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
