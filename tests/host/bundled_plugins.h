// An environment with the plugins of this build and those in the folders of `options`, without plugins installed on the
// machine.
#pragma once

#include <epiphyte/environment.hpp>

namespace epiphyte::test {

inline Environment BundledPlugins(EnvironmentOptions options = {}) {
  options.plugin_folders.push_back(EPIPHYTE_PLUGIN_FOLDER);
  options.use_environment_variable = false;
  options.use_user_folder = false;
  options.use_system_folders = false;
  return Environment(options);
}

}  // namespace epiphyte::test
