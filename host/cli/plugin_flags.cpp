#include "host/cli/plugin_flags.h"

namespace epiphyte::cli {

void PluginFlags::Add(CLI::App& command) {
  command
      .add_option("--plugin", libraries,
                  "Library of a plugin that has no manifest, or whose manifest is elsewhere; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

Environment PluginFlags::Open() const {
  Environment environment;
  for (const std::string& library : libraries) environment.plugins().Add(library);
  return environment;
}

}  // namespace epiphyte::cli
