// Manifests for tests: a complete one, and one with a key replaced.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace epiphyte::test {

// Returns a valid manifest with `more` appended.
inline std::string ManifestText(std::string_view name, std::string_view library, std::string_view more = "") {
  return fmt::format("manifest_version: 1\nname: {}\nvendor: Acme\nversion: 1.2.3\nlibrary: {}\nabi: \"0.2\"\n{}\n",
                     name, library, more);
}

// Returns a valid manifest in which `line`, "key: value", replaces the line with the same key.
inline std::string ManifestWith(std::string_view line) {
  std::string text = ManifestText("acme", "libacme.so");
  const std::string key(line.substr(0, line.find(':') + 1));
  const size_t begin = text.find(key) == 0 ? 0 : text.find("\n" + key) + 1;
  if (begin == 0 && text.find(key) != 0) return text + std::string(line) + "\n";
  return text.replace(begin, text.find('\n', begin) - begin, line);
}

}  // namespace epiphyte::test
