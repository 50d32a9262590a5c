#include "epiphyte/environment.hpp"

#include "host/api/access.h"

namespace epiphyte {

Environment::Environment(const EnvironmentOptions& options) {
  WithPublicErrors([&] {
    core::CatalogOptions catalog;
    catalog.paths = options.plugin_folders;
    catalog.use_environment = options.use_environment_variable;
    catalog.use_user_folder = options.use_user_folder;
    catalog.use_system_folders = options.use_system_folders;
    catalog.policy_file = options.policy_file;
    catalog.disabled = options.disabled_plugins;
    environment_ =
        std::make_shared<core::Environment>(std::move(catalog), options.guard_mapped_files, options.max_async_runs);
  });
}

PluginCatalog Environment::plugins() const { return PluginCatalog(environment_); }

std::string_view Version() { return EPIPHYTE_VERSION; }

}  // namespace epiphyte
