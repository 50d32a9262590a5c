#include "core/registry/manifest_digest.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/small_file.h"
#include "core/base/staged_file.h"
#include "core/base/strict_yaml.h"
#include "core/registry/elf.h"
#include "core/registry/manifest.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDigestKey = "sha256";

std::string LowerCase(std::string digest) {
  NormalizeSha256(&digest);
  return digest;
}

// Digests by platform; the key is "" for a single one.
std::map<std::string, std::string> RecordedDigests(const YamlNode& root) {
  std::map<std::string, std::string> recorded;
  const YamlNode* node = root.Find(kDigestKey);
  if (node == nullptr) return recorded;
  if (node->kind == YamlNode::Kind::kScalar) recorded.emplace("", LowerCase(node->scalar));
  for (const auto& [platform, digest] : node->fields) recorded.emplace(platform, LowerCase(digest.scalar));
  return recorded;
}

struct OpenManifest {
  fs::path path;  // canonical path
  std::string text;
  YamlNode root;
  std::vector<ManifestDigest> digests;
};

OpenManifest Open(const fs::path& path) {
  OpenManifest open;
  std::error_code error;
  open.path = fs::canonical(path, error);
  if (error) open.path = path;  // the error appears again when the file is read
  open.text = ReadSmallFile(open.path, kMaxManifestBytes);
  const Manifest manifest = ParseManifest(open.text, open.path);
  open.root = ParseStrictYaml(open.text, open.path.string());
  const std::map<std::string, std::string> recorded = RecordedDigests(open.root);
  for (const auto& [platform, library] : manifest.library) {
    ManifestDigest digest;
    digest.platform = platform;
    digest.library = (open.path.parent_path() / library).lexically_normal();
    const auto found = recorded.find(recorded.contains("") ? "" : platform);
    if (found != recorded.end()) digest.recorded = found->second;
    if (fs::is_regular_file(digest.library, error)) digest.actual = Sha256OfFile(digest.library);
    open.digests.push_back(std::move(digest));
  }
  return open;
}

// Offset of a node in the text, from its "file:line:column", which is counted without a byte order mark.
size_t OffsetOf(std::string_view text, const YamlNode& node) {
  const size_t column_at = node.where.rfind(':');
  const size_t line_at = node.where.rfind(':', column_at - 1);
  size_t line = 0;
  size_t column = 0;
  std::from_chars(node.where.data() + line_at + 1, node.where.data() + column_at, line);
  std::from_chars(node.where.data() + column_at + 1, node.where.data() + node.where.size(), column);
  size_t offset = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (size_t i = 1; i < line && offset < text.size(); ++i)
    offset = std::min(text.find('\n', offset), text.size() - 1) + 1;
  return offset + column - 1;
}

// Writes digests into the text; a wrong edit is detected by reading the result.
class Editor {
 public:
  explicit Editor(const OpenManifest& manifest) : manifest_(manifest) {}

  std::string Edit() {
    const YamlNode* node = manifest_.root.Find(kDigestKey);
    const bool for_all = manifest_.digests.size() == 1 && manifest_.digests[0].platform.empty();
    if (node == nullptr) {
      AddKey(for_all);
    } else if (node->kind == YamlNode::Kind::kScalar) {
      ReplaceSingle(*node, for_all);
    } else {
      ReplaceInMap(*node);
    }
    std::sort(edits_.begin(), edits_.end(), [](const Change& a, const Change& b) { return a.offset > b.offset; });
    std::string text = manifest_.text;
    for (const Change& edit : edits_) {
      if (edit.offset > text.size()) return "";
      text.replace(edit.offset, edit.length, edit.text);
    }
    return text;
  }

 private:
  struct Change {
    size_t offset;
    size_t length;
    std::string text;
  };

  static std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

  std::string Map() const {
    std::string map;
    for (const ManifestDigest& digest : manifest_.digests) {
      const std::string& known = digest.actual.empty() ? digest.recorded : digest.actual;
      if (!known.empty())
        map += fmt::format("{}{}: {}", map.empty() ? "" : ", ", Quoted(digest.platform), Quoted(known));
    }
    return "{ " + map + " }";
  }
  std::string Value(bool for_all) const { return for_all ? Quoted(manifest_.digests[0].actual) : Map(); }

  // Adds the key after the last line or, in JSON, before the first key.
  void AddKey(bool for_all) {
    const std::string& text = manifest_.text;
    const size_t root = OffsetOf(text, manifest_.root);
    if (root < text.size() && text[root] == '{') {
      edits_.push_back({root + 1, 0, fmt::format("{}: {},", Quoted(kDigestKey), Value(for_all))});
      return;
    }
    const bool ends_line = text.empty() || text.back() == '\n';
    edits_.push_back({text.size(), 0, fmt::format("{}{}: {}\n", ends_line ? "" : "\n", kDigestKey, Value(for_all))});
  }

  void ReplaceScalar(const YamlNode& node, std::string text) {
    const size_t offset = OffsetOf(manifest_.text, node);
    const bool quoted = manifest_.text.substr(offset, 1).find_first_of("'\"") == 0;
    edits_.push_back({offset, node.scalar.size() + (quoted ? 2 : 0), std::move(text)});
  }

  // A single digest for all libraries stays single as long as they are equal.
  void ReplaceSingle(const YamlNode& node, bool for_all) {
    bool equal = true;
    for (const ManifestDigest& digest : manifest_.digests)
      equal = equal && digest.actual == manifest_.digests[0].actual;
    ReplaceScalar(node, for_all || equal ? Quoted(manifest_.digests[0].actual) : Map());
  }

  void ReplaceInMap(const YamlNode& map) {
    for (const ManifestDigest& digest : manifest_.digests) {
      if (digest.actual.empty()) continue;
      if (digest.platform.empty()) {
        // There is one library for all platforms, whatever keys the earlier digests have.
        for (const auto& [platform, node] : map.fields) ReplaceScalar(node, Quoted(digest.actual));
      } else if (const YamlNode* node = map.Find(digest.platform)) {
        ReplaceScalar(*node, Quoted(digest.actual));
      } else {
        AddToMap(map, digest);
      }
    }
  }

  void AddToMap(const YamlNode& map, const ManifestDigest& digest) {
    const size_t offset = OffsetOf(manifest_.text, map);
    const std::string entry = fmt::format("{}: {}", Quoted(digest.platform), Quoted(digest.actual));
    if (manifest_.text.substr(offset, 1) == "{") {
      edits_.push_back({offset + 1, 0, " " + entry + ","});
      return;
    }
    const size_t line = manifest_.text.rfind('\n', offset) + 1;
    edits_.push_back({offset, 0, entry + "\n" + std::string(offset - line, ' ')});
  }

  const OpenManifest& manifest_;
  std::vector<Change> edits_;
};

bool HasDigests(const std::string& text, const OpenManifest& expected) {
  try {
    ParseManifest(text, expected.path);
    const std::map<std::string, std::string> recorded = RecordedDigests(ParseStrictYaml(text, expected.path.string()));
    return std::all_of(expected.digests.begin(), expected.digests.end(), [&](const ManifestDigest& digest) {
      if (digest.actual.empty()) return true;
      if (digest.platform.empty()) {
        return !recorded.empty() && std::all_of(recorded.begin(), recorded.end(),
                                                [&](const auto& item) { return item.second == digest.actual; });
      }
      const auto found = recorded.find(recorded.contains("") ? "" : digest.platform);
      return found != recorded.end() && found->second == digest.actual;
    });
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<ManifestDigest> ReadManifestDigests(const fs::path& manifest) { return Open(manifest).digests; }

std::vector<ManifestDigest> WriteManifestDigests(const fs::path& manifest) {
  const OpenManifest open = Open(manifest);
  const auto here = std::find_if(open.digests.begin(), open.digests.end(),
                                 [](const ManifestDigest& digest) { return !digest.actual.empty(); });
  if (here == open.digests.end()) {
    Fail(StatusCode::kNoSuchFile, "no library of the manifest '{}' is here, '{}' is expected; install it first",
         open.path.string(), open.digests[0].library.string());
  }
  const bool is_right = std::all_of(open.digests.begin(), open.digests.end(), [](const ManifestDigest& digest) {
    return digest.actual.empty() || digest.actual == digest.recorded;
  });
  if (is_right) return open.digests;
  const std::string text = Editor(open).Edit();
  if (!HasDigests(text, open)) {
    Fail(StatusCode::kInvalidArgument,
         "the digest can't be put into the manifest '{}' without changing more of it; write `{}: \"{}\"` there by hand",
         open.path.string(), kDigestKey, here->actual);
  }
  std::error_code ignored;
  const fs::perms mode = fs::status(open.path, ignored).permissions();
  StagedFile file(open.path);
  file.Write(text.data(), text.size());
  fs::permissions(file.staged_path(), mode, ignored);
  file.Commit(/*overwrite=*/true);
  return open.digests;
}

std::string WhyDigestsDiffer(const fs::path& library, const fs::path& manifest) {
  const bool stripped = [&] {
    try {
      const ElfFile elf = ReadElf(library);
      return elf.is_whole && !elf.has_symbols;
    } catch (const Error&) {
      return false;
    }
  }();
  if (manifest.empty()) {
    return stripped
               ? "the library is stripped; give the digest of the stripped file, or the library that it was taken of"
               : "give the digest of this file, or the library that it was taken of";
  }
  const std::string command = fmt::format("epiphyte manifest --digest '{}'", manifest.string());
  if (stripped) {
    return fmt::format(
        "the library is stripped: if that happened after its digest was taken, as packaging does it, `{}` takes it "
        "anew; else install manifest and library of the same release",
        command);
  }
  return fmt::format(
      "install manifest and library of the same release; if the library was changed on purpose after its digest was "
      "taken (patchelf, a signature), `{}` takes it anew",
      command);
}

}  // namespace epiphyte::core
