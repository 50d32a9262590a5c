// Environment: the state that sessions share. Its constructor finds the plugins; a plugin is opened when a session
// first needs it.
//
//   epiphyte::EnvironmentOptions options;
//   options.plugin_folders = {"/opt/acme/epiphyte"};
//   epiphyte::Environment environment(options);
//
// A handle: copies refer to the same environment. The environment lives as long as a handle or a session of it.
// Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "epiphyte/export.hpp"
#include "epiphyte/plugin_catalog.hpp"

namespace epiphyte {

struct EnvironmentOptions {
  // Searched after EPIPHYTE_PLUGIN_PATH and before the user's and the system's folders.
  std::vector<std::filesystem::path> plugin_folders;
  // Uses EPIPHYTE_PLUGIN_PATH, EPIPHYTE_POLICY and EPIPHYTE_DISABLE. A process with raised privileges never uses them.
  bool use_environment_variable = true;
  bool use_user_folder = true;
  // Searches the system's folders. The system's policy file, /etc/epiphyte/epiphyte.yaml, is obeyed in any case: its
  // allow and deny lists and pinned settings.
  bool use_system_folders = true;
  // Models, external data and contexts are mapped into memory. If a program truncates such a file (instead of replacing
  // it by a rename), the next read of it raises SIGBUS, which ends a process. true: the first environment installs a
  // SIGBUS handler. A fault in a file that Epiphyte has mapped becomes an error of the session that reads it, with the
  // file's name and code FAIL. Any other fault goes to the previous handler, also a sanitizer's, or ends the process as
  // without Epiphyte. A handler that the application installs later takes precedence; it should pass unknown faults to
  // the handler that it replaced. false in every environment: SIGBUS is never touched.
  bool guard_mapped_files = true;
  // Maximum number of concurrent runs of Session::RunAsync over all sessions; each has its own thread. 0: one for each
  // physical core. The threads are started when they are first needed.
  uint32_t max_async_runs = 0;
  // Policy file with priorities, options, allow and deny lists. It is applied after the system's policy file and
  // replaces the user's. Empty: the file that EPIPHYTE_POLICY names, else the user's epiphyte.yaml.
  std::filesystem::path policy_file;
  // Names of plugins to disable, as a policy file does.
  std::vector<std::string> disabled_plugins;
};

class EPIPHYTE_API Environment {
 public:
  Environment() : Environment(EnvironmentOptions{}) {}
  explicit Environment(const EnvironmentOptions& options);

  PluginCatalog plugins() const;

 private:
  friend class Access;
  std::shared_ptr<core::Environment> environment_;
};

// "0.1.0"
EPIPHYTE_API std::string_view Version();

}  // namespace epiphyte
