#include "core/registry/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "core/base/error.h"
#include "core/base/strict_yaml.h"
#include "core/base/text.h"
#include "core/onnx/read/file_kind.h"
#include "core/registry/platform.h"
#include "core/registry/yaml_fields.h"
#include "epiphyte/ep_abi.h"

namespace epiphyte::core {
namespace {

constexpr int64_t kManifestVersion = 1;
constexpr size_t kMaxSources = 64;
constexpr size_t kMaxSourceBytes = 128;

constexpr std::array<std::string_view, 17> kKeys = {
    "manifest_version", "name",     "vendor",  "version", "license", "description", "library",  "abi",       "sources",
    "devices",          "priority", "enabled", "sha256",  "depends", "options",     "fallback", "parameters"};
constexpr std::array<std::string_view, 4> kDevices = {"cpu", "gpu", "npu", "other"};

void CheckVersion(const YamlNode& root) {
  const YamlNode& node = root.Required("manifest_version");
  const int64_t version = node.AsInt();
  if (version != kManifestVersion) {
    node.Reject(fmt::format("manifest_version {} found, {} expected{}", version, kManifestVersion,
                            version > kManifestVersion ? "; update Epiphyte to read this manifest" : ""));
  }
}

std::string ReadText(const YamlNode& node) {
  std::string text = node.AsString();
  if (text.empty()) node.Reject("an empty string found, some text expected");
  return text;
}

std::string ReadLibraryPath(const YamlNode& node) {
  std::string path = ReadText(node);
  if (path.find('\n') != std::string::npos || path.size() > 4095) node.Reject("no usable path of a library");
  for (const std::filesystem::path& component : std::filesystem::path(path)) {
    if (component == "..") {
      node.Reject("a library path with '..' found; expected one below the manifest's folder, or an absolute path");
    }
  }
  return path;
}

// Reads one value for all platforms, under the key "", or a map from platform to value.
template <typename Read>
auto ReadPerPlatform(const YamlNode& node, Read&& read) {
  std::map<std::string, decltype(read(node))> values;
  if (node.kind != YamlNode::Kind::kMap) {
    values.emplace("", read(node));
    return values;
  }
  for (const auto& [platform, value] : node.fields) values.emplace(platform, read(value));
  if (values.empty()) node.Reject("an empty map found; expected platforms, like {linux-x86_64: libname.so}");
  return values;
}

uint32_t ReadAbi(const YamlNode& node) {
  const std::string text = node.AsString();
  const char* const end = text.data() + text.size();
  uint16_t major = 0;
  uint16_t minor = 0;
  const auto [dot, major_error] = std::from_chars(text.data(), end, major);
  if (major_error == std::errc() && dot != end && *dot == '.') {
    const auto [stop, minor_error] = std::from_chars(dot + 1, end, minor);
    if (minor_error == std::errc() && stop == end) return EP_MAKE_ABI_VERSION(major, minor);
  }
  node.Reject(fmt::format("abi '{}' found, a version like \"0.2\" expected", PrintableLine(text, 32)));
}

std::vector<std::string> ReadSources(const YamlNode& node) {
  std::vector<std::string> sources = node.AsStringList();
  if (sources.size() > kMaxSources) {
    node.Reject(fmt::format("{} sources found, at most {} are allowed", sources.size(), kMaxSources));
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& source = sources[i];
    if (source.empty() || source.size() > kMaxSourceBytes || source.find_first_of("\t\r\n") != std::string::npos) {
      node.items[i].Reject(fmt::format("no usable source; expected one line of 1 to {} bytes", kMaxSourceBytes));
    }
    if (std::find(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(i), source) !=
        sources.begin() + static_cast<std::ptrdiff_t>(i)) {
      node.items[i].Reject(fmt::format("source '{}' found twice", source));
    }
  }
  return sources;
}

std::string ReadSha256(const YamlNode& node) {
  std::string digest = node.AsString();
  if (!NormalizeSha256(&digest)) {
    node.Reject("no SHA-256 found; expected 64 hexadecimal digits, as sha256sum prints them");
  }
  return digest;
}

std::map<std::string, std::string> ReadParameters(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap) node.Reject("a map of parameters expected, like {backend: libvendor.so}");
  std::map<std::string, std::string> parameters;
  for (const auto& [key, value] : node.fields) parameters.emplace(key, value.AsString());
  return parameters;
}

void ReadDevices(const YamlNode& node, Manifest* manifest) {
  manifest->devices = node.AsStringList();
  for (size_t i = 0; i < manifest->devices.size(); ++i) {
    if (std::find(kDevices.begin(), kDevices.end(), manifest->devices[i]) != kDevices.end()) continue;
    manifest->notes.push_back(fmt::format("{}: unknown device kind '{}'; known are cpu, gpu, npu, other",
                                          node.items[i].where, PrintableLine(manifest->devices[i], 64)));
  }
}

}  // namespace

bool NormalizeSha256(std::string* digest) {
  for (char& c : *digest) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return digest->size() == 64 && digest->find_first_not_of("0123456789abcdef") == std::string::npos;
}

Manifest ParseManifest(std::string_view text, const std::filesystem::path& path) {
  RefuseLfsPointer(text, fmt::format("manifest '{}'", path.string()));
  const YamlNode root = ParseStrictYaml(text, path.string());
  CheckVersion(root);

  Manifest manifest;
  manifest.path = path;
  manifest.notes = NotesOnUnknownKeys(root, kKeys);
  manifest.name = ReadProviderName(root.Required("name"));
  manifest.vendor = ReadText(root.Required("vendor"));
  manifest.version = ReadText(root.Required("version"));
  manifest.library = ReadPerPlatform(root.Required("library"), ReadLibraryPath);
  manifest.abi = ReadAbi(root.Required("abi"));
  if (const YamlNode* node = root.Find("license")) manifest.license = node->AsString();
  if (const YamlNode* node = root.Find("description")) manifest.description = node->AsString();
  if (const YamlNode* node = root.Find("sources")) manifest.sources = ReadSources(*node);
  if (const YamlNode* node = root.Find("devices")) ReadDevices(*node, &manifest);
  if (const YamlNode* node = root.Find("priority")) manifest.priority = ReadPriority(*node);
  if (const YamlNode* node = root.Find("enabled")) manifest.enabled = node->AsBool();
  if (const YamlNode* node = root.Find("fallback")) manifest.fallback = node->AsBool();
  if (const YamlNode* node = root.Find("depends")) manifest.depends = node->AsStringList();
  if (const YamlNode* node = root.Find("options")) manifest.options = ReadDeclarations(*node);
  if (const YamlNode* node = root.Find("parameters")) manifest.parameters = ReadParameters(*node);
  if (const YamlNode* node = root.Find("sha256")) {
    const std::map<std::string, std::string> digests = ReadPerPlatform(*node, ReadSha256);
    const auto own = digests.find(digests.contains("") ? "" : std::string(CurrentPlatform()));
    if (own != digests.end()) manifest.sha256 = own->second;
  }
  return manifest;
}

std::string NameInManifest(std::string_view text) {
  try {
    const YamlNode root = ParseStrictYaml(text, "");
    const YamlNode* name = root.Find("name");
    return name != nullptr && IsProviderName(name->scalar) ? name->scalar : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace epiphyte::core
