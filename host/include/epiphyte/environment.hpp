// Environment: what sessions share. It finds the plugins once, when it is made, and opens each when a session first
// needs it.
//
//   epiphyte::EnvironmentOptions options;
//   options.plugin_folders = {"/opt/acme/epiphyte"};
//   epiphyte::Environment environment(options);
//
// A handle: copies refer to the same environment, which lives as long as a copy or a session of it. Thread-safe.
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
  // EPIPHYTE_PLUGIN_PATH, EPIPHYTE_POLICY and EPIPHYTE_DISABLE. A process with raised privileges never uses them.
  bool use_environment_variable = true;
  bool use_user_folder = true;
  // What the system's policy file, /etc/epiphyte/epiphyte.yaml, denies, allows and pins holds in any case.
  bool use_system_folders = true;
  // Models, external data and contexts are mapped into memory. A program that truncates such a file (instead of putting
  // a new one in its place by renaming) makes the next read of it raise SIGBUS, which ends a process. true: the first
  // environment takes over SIGBUS; a fault in a file that Epiphyte has mapped becomes an error of the session that
  // reads it, naming the file, with code FAIL; everything else goes to the handler that was there before, a sanitizer's
  // too, or ends the process as it would have. A handler that the application installs later takes precedence, and
  // should pass on what it doesn't know to the one it replaced. false in every environment: SIGBUS is never touched.
  bool guard_mapped_files = true;
  // How many runs of Session::RunAsync, of all sessions together, go on at once, each on a thread of its own; 0: one
  // for each physical core. The threads are started when they are first needed.
  uint32_t max_async_runs = 0;
  // Sets priorities, options, allow and deny lists, over the system's policy file and in the place of the user's.
  // Empty: the file that EPIPHYTE_POLICY names, else the user's epiphyte.yaml.
  std::filesystem::path policy_file;
  // Names of plugins that are not to be used, as if a policy file disabled them.
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
