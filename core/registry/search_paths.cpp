#include "core/registry/search_paths.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/folder_names.h"
#include "core/base/log.h"
#include "core/registry/module.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

// Variables of a user's making must not choose what code a process with raised privileges runs.
std::string TrustedVariable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

// `$variable` or, if it is not set, `$HOME/fallback`; empty when neither is known. As the XDG rules want it, a relative
// path counts as not set.
fs::path UserFolder(const char* variable, const char* fallback) {
  const fs::path chosen = TrustedVariable(variable);
  if (chosen.is_absolute()) return chosen;
  const fs::path home = TrustedVariable("HOME");
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
    return name.size() > 5 && name.ends_with(".yaml") && name[0] != '.' && name != "schema.yaml";
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

  // `path` is canonical but for its last component.
  void AddManifest(const fs::path& path) {
    std::error_code error;
    fs::path canonical = fs::is_symlink(path, error) ? fs::canonical(path, error) : path;
    if (error) canonical = path;  // a link that leads nowhere; reading it will say so
    if (manifests_seen_.insert(canonical).second) search_.manifests.push_back(std::move(canonical));
  }

  std::set<fs::path> folders_seen_;
  std::set<fs::path> manifests_seen_;
  Search search_;
};

void AddEnvironment(Finder* finder) {
  const std::string value = TrustedVariable("EPIPHYTE_PLUGIN_PATH");
  for (size_t begin = 0; begin <= value.size();) {
    const size_t end = std::min(value.find(':', begin), value.size());
    finder->Add(value.substr(begin, end - begin), "EPIPHYTE_PLUGIN_PATH");
    begin = end + 1;
  }
}

void AddSystem(const CatalogOptions& options, Finder* finder) {
  // A link to a program with raised privileges may be anywhere, so that what lies beside it proves nothing.
  const fs::path module = ModuleOf(reinterpret_cast<const void*>(&FindManifests));
  if (!module.empty() && !options.elevated) {
    const fs::path folder = module.parent_path();
    finder->Add(folder.parent_path() / "lib/epiphyte/plugins", "installation");
    finder->Add(folder / "epiphyte/plugins", "installation");
  }
  finder->Add(EPIPHYTE_INSTALLED_PLUGIN_DIR, "system");
  for (const char* folder : {"/usr/local/lib/epiphyte/plugins", "/usr/lib/epiphyte/plugins", "/etc/epiphyte/plugins"}) {
    finder->Add(folder, "system");
  }
}

}  // namespace

Search FindManifests(const CatalogOptions& options) {
  Finder finder;
  if (options.use_environment) AddEnvironment(&finder);
  for (const fs::path& path : options.paths) finder.Add(path, "application");
  if (options.use_user_folder) {
    if (const fs::path data = UserFolder("XDG_DATA_HOME", ".local/share"); !data.empty()) {
      finder.Add(data / "epiphyte/plugins", "user");
    }
  }
  if (options.use_system_folders) AddSystem(options, &finder);
  return finder.Take();
}

fs::path FindPolicyFile(const CatalogOptions& options) {
  if (!options.policy_file.empty()) return options.policy_file;
  std::error_code ignored;
  if (options.use_user_folder) {
    if (const fs::path config = UserFolder("XDG_CONFIG_HOME", ".config"); !config.empty()) {
      fs::path file = config / "epiphyte/epiphyte.yaml";
      if (fs::exists(file, ignored)) return file;
    }
  }
  const fs::path file = "/etc/epiphyte/epiphyte.yaml";
  return options.use_system_folders && fs::exists(file, ignored) ? file : fs::path();
}

}  // namespace epiphyte::core
