#include "epiphyte/kit/graph/text_tokens.hpp"

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/element_text.hpp"

namespace epiphyte::kit::ir {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./-+$").find(c) != std::string_view::npos;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Tokens::Tokens(std::string_view line, size_t number) : number_(number) {
  constexpr std::string_view kEllipsis = "…";
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == '#') break;
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (IsWordCharacter(c)) {
      const size_t begin = at;
      while (at < line.size() && IsWordCharacter(line[at])) ++at;
      tokens_.push_back({Kind::kWord, std::string(line.substr(begin, at - begin))});
    } else if (c == '"') {
      at = ReadText(line, at + 1);
    } else if (line.substr(at).starts_with(kEllipsis)) {
      tokens_.push_back({Kind::kSign, std::string(kEllipsis)});
      at += kEllipsis.size();
    } else if (std::string_view("=,:()[]{}<>@?").find(c) != std::string_view::npos) {
      tokens_.push_back({Kind::kSign, std::string(1, c)});
      ++at;
    } else {
      Fail("byte " + std::to_string(static_cast<unsigned char>(c)) +
           " found; names of other than letters, digits and " + "_./-$ are written in quotes");
    }
  }
}

// Reads the quoted text that begins at `at`, and returns the position after it.
size_t Tokens::ReadText(std::string_view line, size_t at) {
  std::string text;
  for (; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] != '\\') {
      text += line[at];
      continue;
    }
    const char escaped = ++at < line.size() ? line[at] : '\0';
    if (escaped == '"' || escaped == '\\') {
      text += escaped;
    } else if (escaped == 'n') {
      text += '\n';
    } else if (escaped == 'x' && at + 2 < line.size() && HexDigit(line[at + 1]) >= 0 && HexDigit(line[at + 2]) >= 0) {
      text += static_cast<char>(HexDigit(line[at + 1]) * 16 + HexDigit(line[at + 2]));
      at += 2;
    } else {
      Fail("a backslash found with something else behind it than \", \\, n or x and two digits of 0-9a-f");
    }
  }
  if (at >= line.size()) Fail("a quoted text without an end found; a \" expected on the same line");
  tokens_.push_back({Kind::kText, std::move(text)});
  return at + 1;
}

bool Tokens::IsNext(std::string_view text, size_t ahead) const {
  const size_t at = next_ + ahead;
  return at < tokens_.size() && tokens_[at].kind != Kind::kText && tokens_[at].text == text;
}

bool Tokens::Take(std::string_view text) {
  if (!IsNext(text)) return false;
  ++next_;
  return true;
}

void Tokens::Expect(std::string_view text) {
  if (!Take(text)) FailExpecting("'" + std::string(text) + "'");
}

void Tokens::ExpectEnd() {
  if (!AtEnd()) FailExpecting("the end of the line");
}

std::string Tokens::Name(std::string_view what) {
  if (AtEnd() || tokens_[next_].kind == Kind::kSign) FailExpecting(what);
  return tokens_[next_++].text;
}

std::string Tokens::Word(std::string_view what) {
  if (!IsWordNext()) FailExpecting(what);
  return tokens_[next_++].text;
}

std::string Tokens::Text(std::string_view what) {
  if (!IsTextNext()) FailExpecting(what);
  return tokens_[next_++].text;
}

int64_t Tokens::Integer(std::string_view what) {
  int64_t number = 0;
  if (!IsWordNext() || !ParseInteger(tokens_[next_].text, &number)) FailExpecting(what);
  ++next_;
  return number;
}

void Tokens::FailExpecting(std::string_view what) const {
  const std::string found = AtEnd() ? "the end of the line" : Shown(Peek());
  Fail(found + " found; " + std::string(what) + " expected");
}

std::string Tokens::Shown(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string shown = "'";
  for (const char c : text.substr(0, kMost)) shown += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return shown + (text.size() > kMost ? "…'" : "'");
}

void Tokens::Fail(const std::string& message) const {
  throw Error(EP_STATUS_INVALID_GRAPH, "line " + std::to_string(number_) + ": " + message);
}

}  // namespace epiphyte::kit::ir
