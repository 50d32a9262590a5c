#include "epiphyte/kit/container/key.hpp"

#include <map>

namespace epiphyte::kit {
namespace {

// Text may come from a file. Control characters in it would break a one-line message.
bool IsPlain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }

std::string Escaped(std::string_view value) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : value) {
    if (IsPlain(c) && c != ';' && c != '%') {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool Unescape(std::string_view text, std::string* value) {
  value->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsPlain(text[i])) return false;
    if (text[i] != '%') {
      *value += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? DigitOf(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? DigitOf(text[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    *value += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

using Fields = std::map<std::string, std::string, std::less<>>;

std::optional<Fields> Parse(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(item.size() == text.size() ? item.size() : item.size() + 1);
    const size_t equals = item.find('=');
    std::string value;
    if (equals == std::string_view::npos || !Unescape(item.substr(equals + 1), &value)) return {};
    if (!fields.emplace(item.substr(0, equals), std::move(value)).second) return {};
  }
  return fields;
}

}  // namespace

CompatibilityKey& CompatibilityKey::Require(std::string_view name, std::string_view value, std::string_view words) {
  fields_.push_back(
      {std::string(name), std::string(value), std::string(words), "compile the model again", EP_CONTEXT_UNSUPPORTED});
  return *this;
}

CompatibilityKey& CompatibilityKey::Prefer(std::string_view name, std::string_view value, std::string_view words,
                                           std::string_view advice) {
  fields_.push_back({std::string(name), std::string(value), std::string(words), std::string(advice),
                     EP_CONTEXT_PREFER_RECOMPILATION});
  return *this;
}

std::string CompatibilityKey::ToText() const {
  std::string text;
  for (const Field& field : fields_) {
    if (!text.empty()) text += ';';
    text += field.name + '=' + Escaped(field.value);
  }
  return text;
}

ContextVerdict CompatibilityKey::Compare(std::string_view made) const {
  const std::optional<Fields> found = Parse(made);
  if (!found)
    return {EP_CONTEXT_UNSUPPORTED,
            "what it says of how it was made can't be read by this version; compile the model again"};
  ContextVerdict worst;
  for (const Field& field : fields_) {
    if (field.verdict <= worst.verdict) continue;
    const auto other = found->find(field.name);
    if (other == found->end()) {
      worst = {field.verdict,
               "it doesn't say whether it was made for " + Say(field, field.value) + "; " + field.advice};
    } else if (other->second != field.value) {
      worst = {field.verdict, "it was made for " + Say(field, other->second) + ", here it is " +
                                  Say(field, field.value) + "; " + field.advice};
    }
  }
  return worst;
}

std::string CompatibilityKey::Say(const Field& field, std::string_view value) {
  const size_t place = field.words.find("{}");
  if (place == std::string::npos) return field.words + " " + Escaped(value);
  return std::string(field.words).replace(place, 2, Escaped(value));
}

std::optional<std::string> FieldOfKey(std::string_view key, std::string_view name) {
  const std::optional<Fields> fields = Parse(key);
  if (!fields) return {};
  const auto found = fields->find(name);
  return found == fields->end() ? std::nullopt : std::optional(found->second);
}

}  // namespace epiphyte::kit
