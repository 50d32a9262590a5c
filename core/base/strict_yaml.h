// Strict YAML: the subset that manifests and policy files use. yaml-cpp parses; this reader accepts only block and flow
// maps, lists and scalars. It refuses anchors, aliases, tags, merge keys, several documents, duplicate keys, more than
// 8 levels, more than 64 KiB, and bytes that aren't UTF-8 text.
//
//   YamlNode root = ParseStrictYaml(text, "vulkan.yaml");
//   std::string name = root.Required("name").AsString();
//
// Every error is INVALID_ARGUMENT with "file:line:column: …".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace epiphyte::core {

class YamlNode {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };

  // Defined in the .cpp, where YamlNode is complete, because `fields` contains YamlNodes.
  YamlNode();
  ~YamlNode();
  YamlNode(const YamlNode&);
  YamlNode(YamlNode&&) noexcept;
  YamlNode& operator=(const YamlNode&);
  YamlNode& operator=(YamlNode&&) noexcept;

  Kind kind = Kind::kNull;
  bool quoted = false;  // a quoted scalar is always a string
  std::string scalar;
  std::vector<YamlNode> items;                           // list
  std::vector<std::pair<std::string, YamlNode>> fields;  // map, in file order
  std::string where;                                     // "file:line:column"

  const YamlNode* Find(std::string_view key) const;
  const YamlNode& Required(std::string_view key) const;
  std::string AsString() const;  // any scalar, as it is spelled
  int64_t AsInt() const;
  bool AsBool() const;  // true, false
  std::vector<std::string> AsStringList() const;
  [[noreturn]] void Reject(std::string_view found_and_expected) const;
};

YamlNode ParseStrictYaml(std::string_view text, std::string_view file);

}  // namespace epiphyte::core
