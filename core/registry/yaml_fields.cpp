#include "core/registry/yaml_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/registry/provider_name.h"

namespace epiphyte::core {

std::map<std::string, std::string> ReadDeclarations(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap) node.Reject("a map of options expected, like {device: 0}");
  std::map<std::string, std::string> options;
  for (const auto& [key, value] : node.fields) options.emplace(key, value.AsString());
  return options;
}

int64_t ReadPriority(const YamlNode& node) {
  constexpr int64_t kLimit = 1'000'000;
  const int64_t priority = node.AsInt();
  if (priority < -kLimit || priority > kLimit) {
    node.Reject(fmt::format("priority {} found, a number between {} and {} expected", priority, -kLimit, kLimit));
  }
  return priority;
}

std::string ReadProviderName(const YamlNode& node) {
  std::string name = node.AsString();
  if (!IsProviderName(name)) node.Reject(NotAProviderName(name));
  return name;
}

std::string NotAProviderName(std::string_view found) {
  return fmt::format("name '{}' found; expected 1 to 64 letters, digits, '_' or '-'", PrintableLine(found, 80));
}

std::vector<std::string> ReadProviderNames(const YamlNode& list) {
  if (list.kind != YamlNode::Kind::kList) list.Reject("a list of provider names expected, like [cpu, vulkan]");
  std::vector<std::string> names;
  for (const YamlNode& item : list.items) names.push_back(ReadProviderName(item));
  return names;
}

std::vector<std::string> NotesOnUnknownKeys(const YamlNode& map, std::span<const std::string_view> known) {
  std::vector<std::string> notes;
  for (const auto& [key, value] : map.fields) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string_view nearest = Nearest(key, known);
    notes.push_back(fmt::format("{}: unknown key '{}' is ignored{}", value.where, PrintableLine(key, 64),
                                nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  }
  return notes;
}

}  // namespace epiphyte::core
