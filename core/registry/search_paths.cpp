#include "core/registry/search_paths.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/folder_names.h"
#include "core/base/log.h"
#include "core/registry/module.h"
#include "core/registry/provider_name.h"
#include "core/registry/yaml_fields.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

// Environment variable, ignored with raised privileges: a user's variables must not choose the code that such a process
// runs.
std::string TrustedVariable(const CatalogOptions& options, const char* name) {
  const char* value = options.elevated ? nullptr : secure_getenv(name);
  return value == nullptr ? "" : value;
}

// Folder `$variable` or, if it is not set, `$HOME/fallback`; empty when neither is known. By the XDG rules a relative
// path counts as not set.
fs::path UserFolder(const CatalogOptions& options, const char* variable, const char* fallback) {
  const fs::path chosen = TrustedVariable(options, variable);
  if (chosen.is_absolute()) return chosen;
  const fs::path home = TrustedVariable(options, "HOME");
  return home.is_absolute() ? home / fallback : fs::path();
}

class Finder {
 public:
  void Add(const fs::path& path, const char* origin) {
    if (path.empty()) return;
    std::error_code error;
    fs::path canonical = fs::canonical(path, error);
    SearchedFolder folder;
    folder.origin = origin;
    folder.exists = !error;
    folder.path = error ? fs::absolute(path, error).lexically_normal() : canonical;
    if (!folders_seen_.insert(folder.path).second) return;
    if (folder.exists) {
      const std::vector<fs::path> found = Manifests(folder.path);
      folder.manifests = found.size();
      for (const fs::path& manifest : found) AddManifest(manifest);
    }
    search_.folders.push_back(std::move(folder));
  }

  Search Take() { return std::move(search_); }

 private:
  static bool IsManifestName(std::string_view name) {
    constexpr std::string_view kDescriptions[] = {"schema.yaml", "manifest_schema.yaml", "policy_schema.yaml"};
    return name.size() > 5 && name.ends_with(".yaml") && name[0] != '.' &&
           std::find(std::begin(kDescriptions), std::end(kDescriptions), name) == std::end(kDescriptions);
  }

  static std::vector<fs::path> Manifests(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return {path};
    std::vector<fs::path> manifests;
    const FolderNames found = NamesIn(path);
    for (const std::string& name : found.names) {
      if (!IsManifestName(name)) continue;
      fs::path manifest = path / name;
      if (!fs::is_directory(manifest, error)) manifests.push_back(std::move(manifest));
    }
    if (found.error != 0) {
      Log(LogLevel::kWarning, "registry", "folder '{}' can't be read: {}", path.string(),
          std::generic_category().message(found.error));
    }
    return manifests;
  }

  // `path` is canonical except for its last component.
  void AddManifest(const fs::path& path) {
    std::error_code error;
    fs::path canonical = fs::is_symlink(path, error) ? fs::canonical(path, error) : path;
    if (error) canonical = path;  // a dangling link; reading it reports the error
    if (manifests_seen_.insert(canonical).second) search_.manifests.push_back(std::move(canonical));
  }

  std::set<fs::path> folders_seen_;
  std::set<fs::path> manifests_seen_;
  Search search_;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void AddEnvironment(const CatalogOptions& options, Finder* finder) {
  for (const std::string& folder : Split(TrustedVariable(options, "EPIPHYTE_PLUGIN_PATH"), ':')) {
    finder->Add(folder, "EPIPHYTE_PLUGIN_PATH");
  }
}

void AddSystem(const CatalogOptions& options, Finder* finder) {
  // A link to a program with raised privileges may be anywhere, so the files beside it can't be trusted.
  const fs::path module = ModuleOf(reinterpret_cast<const void*>(&FindManifests));
  if (!module.empty() && !options.elevated) {
    const fs::path folder = module.parent_path();
    finder->Add(folder.parent_path() / "lib/epiphyte/plugins", "installation");
    finder->Add(folder / "epiphyte/plugins", "installation");
  }
  finder->Add(EPIPHYTE_INSTALLED_PLUGIN_DIR, "system");
  for (const char* folder : {"/usr/local/lib/epiphyte/plugins", "/usr/lib/epiphyte/plugins"}) {
    finder->Add(folder, "system");
  }
  finder->Add(options.system_folder / "plugins", "system");
}

// Whether the file exists. `error` is set when the system doesn't let this process find out.
bool Exists(const fs::path& file, std::error_code* error) {
  const fs::file_status status = fs::status(file, *error);
  if (status.type() == fs::file_type::not_found) error->clear();
  return !*error && status.type() != fs::file_type::not_found;
}

// Throws when access is refused: the file may exist, and its denials would be lost.
bool ExistsForCertain(const fs::path& file) {
  std::error_code error;
  const bool exists = Exists(file, &error);
  if (error) Fail(StatusCode::kFail, "policy file '{}' can't be found or read: {}", file.string(), error.message());
  if (!exists && fs::is_symlink(fs::symlink_status(file, error))) {
    Fail(StatusCode::kFail, "policy file '{}' is a link to '{}', which does not exist; correct or remove the link",
         file.string(), fs::read_symlink(file, error).string());
  }
  return exists;
}

PolicyFile NamedPolicyFile(const fs::path& path, const char* origin, std::string_view who) {
  if (ExistsForCertain(path)) return {path, origin, true};
  Fail(StatusCode::kNoSuchFile, "the policy file '{}'{} does not exist; correct its path", path.string(), who);
}

// The user's layer; empty when no such file is looked for.
std::optional<PolicyFile> FindUserPolicy(const CatalogOptions& options) {
  if (!options.policy_file.empty()) return NamedPolicyFile(options.policy_file, "application", "");
  if (options.use_environment) {
    const std::string named = TrustedVariable(options, "EPIPHYTE_POLICY");
    if (!named.empty()) return NamedPolicyFile(named, "EPIPHYTE_POLICY", ", which EPIPHYTE_POLICY names,");
  }
  if (!options.use_user_folder) return std::nullopt;
  const fs::path config = UserFolder(options, "XDG_CONFIG_HOME", ".config");
  if (config.empty()) return std::nullopt;
  const fs::path file = config / "epiphyte/epiphyte.yaml";
  // No failure: a service often runs with the home folder of another user.
  std::error_code error;
  const bool exists = Exists(file, &error);
  if (error) Log(LogLevel::kInfo, "registry", "policy file '{}' is left out: {}", file.string(), error.message());
  return PolicyFile{file, "user", exists};
}

}  // namespace

Search FindManifests(const CatalogOptions& options) {
  Finder finder;
  if (options.use_environment) AddEnvironment(options, &finder);
  for (const fs::path& path : options.paths) finder.Add(path, "application");
  if (options.use_user_folder) {
    if (const fs::path data = UserFolder(options, "XDG_DATA_HOME", ".local/share"); !data.empty()) {
      finder.Add(data / "epiphyte/plugins", "user");
    }
  }
  if (options.use_system_folders) AddSystem(options, &finder);
  return finder.Take();
}

std::vector<PolicyFile> FindPolicyFiles(const CatalogOptions& options) {
  const fs::path system = options.system_folder / "epiphyte.yaml";
  std::vector<PolicyFile> files = {{system, "system", ExistsForCertain(system)}};
  if (std::optional<PolicyFile> user = FindUserPolicy(options)) files.push_back(std::move(*user));
  return files;
}

std::vector<DisabledForRun> FindDisabled(const CatalogOptions& options) {
  std::vector<DisabledForRun> disabled;
  const auto add = [&](const std::string& name, const char* origin) {
    if (!IsProviderName(name)) {
      Fail(StatusCode::kInvalidArgument, "{}: {}, like npu,vulkan",
           std::string_view(origin) == "application" ? "plugins to disable" : origin, NotAProviderName(name));
    }
    disabled.push_back({name, origin});
  };
  const std::string named = options.use_environment ? TrustedVariable(options, "EPIPHYTE_DISABLE") : "";
  if (!named.empty()) {
    for (const std::string& name : Split(named, ',')) add(name, "EPIPHYTE_DISABLE");
  }
  for (const std::string& name : options.disabled) add(name, "application");
  return disabled;
}

}  // namespace epiphyte::core
