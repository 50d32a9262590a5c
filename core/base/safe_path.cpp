#include "core/base/safe_path.h"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNameBytes = 4095;

[[noreturn]] void Refuse(std::string_view what, std::string_view name, std::string_view reason) {
  Fail(StatusCode::kInvalidGraph, "{}: path '{}' {}", what, PrintableLine(name, 200), reason);
}

// Checks the name alone. The rules are the same on every system, so that a model is refused everywhere or nowhere.
void CheckSpelling(std::string_view name, std::string_view what) {
  constexpr std::string_view kRelative = "is absolute; expected a path relative to the model's folder";
  if (name.empty()) Refuse(what, name, "is empty; expected the name of a file beside the model");
  if (name.size() > kMaxNameBytes) Refuse(what, name, "is longer than 4095 bytes");
  if (name.find('\0') != std::string_view::npos) Refuse(what, name, "contains a zero byte");
  if (name[0] == '/' || name[0] == '\\') Refuse(what, name, kRelative);
  if (name.size() >= 2 && name[1] == ':' && std::isalpha(static_cast<unsigned char>(name[0])) != 0) {
    Refuse(what, name, kRelative);
  }
  if (fs::path::preferred_separator != '\\' && name.find('\\') != std::string_view::npos) {
    Refuse(what, name, "contains a backslash; expected '/' between folders");
  }
  for (const fs::path& component : fs::path(name)) {
    if (component == "..") Refuse(what, name, "contains '..'; expected a path below the model's folder");
  }
}

fs::path Canonical(const fs::path& path, std::string_view name, std::string_view what) {
  std::error_code error;
  fs::path canonical = fs::canonical(path, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    Refuse(what, name, fmt::format("does not exist (looked for '{}')", path.string()));
  }
  if (error) Refuse(what, name, fmt::format("can't be resolved: {}", error.message()));
  return canonical;
}

// Both paths are canonical. Components are compared, so that /models-old is not inside /models.
bool IsInside(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

struct Target {
  fs::path link;       // folder / name, symbolic links not followed
  fs::path canonical;  // link with symbolic links resolved
  bool inside = false;
};

Target Resolve(const fs::path& folder, std::string_view name, std::string_view what) {
  CheckSpelling(name, what);
  const fs::path base = Canonical(folder.empty() ? fs::path(".") : folder, name, what);
  Target target;
  target.link = base / fs::path(name);
  target.canonical = Canonical(target.link, name, what);
  target.inside = IsInside(base, target.canonical);
  return target;
}

fs::path Accept(Target target, bool allowed, std::string_view name, std::string_view what) {
  if (!allowed) {
    Refuse(what, name, "leads out of the model's folder through a symbolic link; put the file into it");
  }
  std::error_code ignored;
  if (!fs::is_regular_file(target.canonical, ignored)) Refuse(what, name, "is no regular file");
  return std::move(target.canonical);
}

// Content-addressed caches keep every file in one folder of blobs, and the model folder consists of links into it.
// Model and data are then equals: following the data's link reveals nothing that the model's own link does not.
bool AreLinksIntoOneFolder(const fs::path& model, const Target& target) {
  std::error_code error;
  if (!fs::is_symlink(model, error) || !fs::is_symlink(target.link, error)) return false;
  const fs::path model_folder = fs::canonical(model.has_parent_path() ? model.parent_path() : fs::path("."), error);
  if (error) return false;
  const fs::path link_folder = fs::canonical(target.link.parent_path(), error);
  if (error || !IsInside(model_folder, link_folder)) return false;
  const fs::path real_model = fs::canonical(model, error);
  return !error && real_model.parent_path() == target.canonical.parent_path();
}

}  // namespace

void CheckFileName(std::string_view name, std::string_view what) { CheckSpelling(name, what); }

fs::path ResolveInside(const fs::path& folder, std::string_view name, std::string_view what) {
  Target target = Resolve(folder, name, what);
  const bool allowed = target.inside;
  return Accept(std::move(target), allowed, name, what);
}

fs::path ResolveBeside(const fs::path& model, std::string_view name, std::string_view what) {
  Target target = Resolve(model.parent_path(), name, what);
  const bool allowed = target.inside || AreLinksIntoOneFolder(model, target);
  return Accept(std::move(target), allowed, name, what);
}

}  // namespace epiphyte::core
